// Reads a block by number with its list of transactions, and the heads of the chain, for verification.
import type { Hex } from '../proof/bytes.ts';
import { hashOf, headerAt, malformed, objectOf } from './decode.ts';
import { ProviderError } from './errors.ts';
import {
  type Finality,
  type FinalityRule,
  finalityOf,
  type Heads,
  headCalls,
  headsOf,
} from './finality.ts';
import { headsByQuorum } from './inclusion.ts';
import type { Still } from './provider-pool.ts';
import { agreedByQuorum, confirmationsOf } from './read-anchor.ts';
import { type Ask, resultOf } from './rpc.ts';

/** A block as a node returned it: nothing proves that hash and transactions belong together. */
export interface Block {
  readonly hash: Hex;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly transactions: ReadonlySet<Hex>;
}

/** Null if the node does not have the block. */
export async function readBlock(ask: Ask, number: bigint): Promise<Block | null> {
  const [answer] = await ask([
    { method: 'eth_getBlockByNumber', params: [`0x${number.toString(16)}`, false] },
  ]);
  const result = resultOf(answer);
  const header = headerAt(number, result);
  if (header === null) return null;
  const { transactions } = objectOf(result);
  if (!Array.isArray(transactions)) throw malformed();
  const { hash, timestamp } = header;
  return { hash, timestamp, transactions: new Set(transactions.map(hashOf)) };
}

/**
 * As `readingByQuorum`: presence needs a quorum for the same block, absence every provider that answers. The
 * transactions are those that a quorum lists: some nodes of Polygon add an entry that others leave out.
 */
export function blockByQuorum(
  blocks: readonly (Block | null)[],
  still: Still & { quorum: number },
): Block | null | undefined {
  const text = (block: Block | null) => (block === null ? '' : `${block.hash},${block.timestamp}`);
  const agreed = agreedByQuorum(blocks, { text, isPresent: (block) => block !== null }, still);
  const same = agreed?.filter((block) => block !== null);
  const [first] = same ?? [];
  if (same === undefined || first === undefined) return agreed && null;
  const all = new Set(same.flatMap(({ transactions }) => [...transactions]));
  const isAgreed = (tx: Hex) =>
    same.filter(({ transactions }) => transactions.has(tx)).length >= still.quorum;
  return { ...first, transactions: new Set([...all].filter(isAgreed)) };
}

export async function readHeads(ask: Ask, rule: FinalityRule): Promise<Heads> {
  return headsOf(await ask(headCalls(rule)), rule);
}

/** The highest heads that a quorum has reached. Undefined while too few have answered. */
export function freshHeads(
  heads: readonly Heads[],
  { quorum, open }: { quorum: number; open: number },
): Heads | undefined {
  if (heads.length >= quorum) return headsByQuorum(heads, quorum);
  if (open > 0) return undefined;
  throw new ProviderError('too few providers answer');
}

/** How deep and how final a canonical block is. */
export function depthOf(
  blockNumber: bigint,
  heads: Heads,
): { confirmations: bigint; finality: Finality } {
  return {
    confirmations: confirmationsOf({ blockNumber }, heads.head),
    finality: finalityOf(blockNumber, heads),
  };
}
