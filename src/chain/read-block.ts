// Reads a block by number with its list of transactions, and the heads of the chain, for verification.
import type { Hex } from '../proof/bytes.ts';
import { hashOf, headerAt, headerOf, malformed, objectOf } from './decode.ts';
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
import { type Ask, blockCall, newestBlockCall, resultOf } from './rpc.ts';

/** A block as a node returned it: nothing proves that hash and transactions belong together. */
export interface Block {
  readonly hash: Hex;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly transactions: ReadonlySet<Hex>;
}

/** Null if the node does not have the block. */
export async function readBlock(ask: Ask, number: bigint): Promise<Block | null> {
  const [answer] = await ask([blockCall(number)]);
  const result = resultOf(answer);
  const header = headerAt(number, result);
  if (header === null) return null;
  const { transactions } = objectOf(result);
  if (!Array.isArray(transactions)) throw malformed();
  const { hash, timestamp } = header;
  return { hash, timestamp, transactions: new Set(transactions.map(hashOf)) };
}

/** Typical time until lagging providers have caught up. */
const CATCH_UP_MS = 1_000;

/**
 * The answers of several URLs that say the same, by their texts. Presence needs a quorum; absence needs every provider
 * that answers. Undefined while an open answer can still matter, and while open providers that are in time could form a
 * different quorum. Throws ProviderError if the providers do not agree.
 */
export function agreedByQuorum<Answer>(
  answers: readonly Answer[],
  { text, isPresent }: { text(answer: Answer): string; isPresent(answer: Answer): boolean },
  { quorum, open, isLate }: Still & { quorum: number },
): Answer[] | undefined {
  const texts = answers.map(text);
  const groups = [...new Set(texts)].map((one) => answers.filter((_, i) => texts[i] === one));
  const agreed = groups.filter(
    (group) =>
      group.length >= quorum && (group.some(isPresent) || (open === 0 && groups.length === 1)),
  );
  const [group, ...rivals] = agreed;
  const others = groups.filter((one) => one !== group).map(({ length }) => length);
  const isContestable = !isLate && open > 0 && open + Math.max(0, ...others) >= quorum;
  if (group !== undefined && rivals.length === 0 && !isContestable) return group;
  if (open > 0) return undefined;
  throw new ProviderError(
    groups.length > 1 ? 'the providers do not agree' : 'too few providers answer',
    { retryAfterMs: CATCH_UP_MS },
  );
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

export async function readHeads(
  ask: Ask,
  rule: FinalityRule,
  signal?: AbortSignal,
): Promise<Heads> {
  return headsOf(await ask(headCalls(rule), signal), rule);
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

/** The time of a node's newest block, in ms. */
export async function newestBlockMs(ask: Ask): Promise<number> {
  const [answer] = await ask([newestBlockCall]);
  const header = headerOf(resultOf(answer));
  if (header === null) throw malformed();
  return header.timestamp;
}

/** The latest time that a quorum has reached. Undefined while too few have answered. */
export function newestByQuorum(
  times: readonly number[],
  { quorum, open }: { quorum: number; open: number },
): number | undefined {
  const newest = times.toSorted((a, b) => b - a)[quorum - 1];
  if (newest !== undefined || open > 0) return newest;
  throw new ProviderError('too few providers answer');
}

/** A head that is behind the receipt comes from another node than the receipt. */
export function confirmationsOf(mined: { blockNumber: bigint }, head: bigint): bigint {
  return head > mined.blockNumber ? head - mined.blockNumber + 1n : 1n;
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
