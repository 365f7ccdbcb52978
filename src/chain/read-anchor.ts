// Reads a transaction, its receipt and its block for verification.
import type { ChainFacts } from '../proof/audit-anchor.ts';
import type { Hex } from '../proof/bytes.ts';
import type { BlockPlace } from './chain-proof.ts';
import {
  headerAt,
  malformed,
  numberOf,
  receiptOf,
  type Transaction,
  type TransactionReceipt,
  transactionOf,
} from './decode.ts';
import { ProviderError } from './errors.ts';
import { type Finality, type FinalityRule, finalityRule, headCalls, headsOf } from './finality.ts';
import type { Still } from './provider-pool.ts';
import { agreedByQuorum, type Block, depthOf, readBlock } from './read-block.ts';
import { type Ask, type RpcAnswer, resultOf } from './rpc.ts';
import { lesser } from './sender-state.ts';

interface Depth {
  /** Counting the block itself; null unless the transaction is in the canonical chain. */
  readonly confirmations: bigint | null;
  /** Null as above. */
  readonly finality: Finality | null;
}

export interface AnchorReading extends Depth {
  readonly facts: ChainFacts;
}

/** Where a document states that a transaction is. */
export type StatedPlace = Pick<BlockPlace, 'blockHash' | 'txIndex'>;

/**
 * Reads everything the chain knows about a transaction, in two requests: one for the transaction and the chain's tags,
 * one for the block at its number. Unknown parts are null. With `place`, a node that no longer knows the transaction by
 * its hash is asked for it by block hash and index.
 */
export async function readAnchor(
  ask: Ask,
  txHash: Hex,
  { place, finality = finalityRule(null) }: { place?: StatedPlace; finality?: FinalityRule } = {},
): Promise<AnchorReading> {
  const [chainId, tx, receipt, ...tops] = await ask([
    { method: 'eth_chainId', params: [] },
    { method: 'eth_getTransactionByHash', params: [txHash] },
    { method: 'eth_getTransactionReceipt', params: [txHash] },
    ...headCalls(finality),
  ]);
  const heads = headsOf(tops, finality);
  let transaction = transactionOf(keptResultOf(tx));
  let mined = receiptOf(keptResultOf(receipt));
  if ((transaction ?? { hash: txHash }).hash !== txHash) throw malformed();
  if ((mined ?? { txHash }).txHash !== txHash) throw malformed();
  if (place !== undefined && (transaction === null || mined === null)) {
    const placed = await readPlace(ask, txHash, place);
    transaction ??= placed.transaction;
    mined ??= placed.mined;
  }
  const block = mined === null ? null : await readBlock(ask, mined.blockNumber);
  const facts: ChainFacts = {
    chain_id: numberOf(resultOf(chainId), 'eth_chainId'),
    tx: transaction && { ...transaction, value: transaction.value.toString() },
    receipt: mined && {
      status: mined.status,
      block_number: mined.blockNumber.toString(),
      block_hash: mined.blockHash,
      tx_index: mined.txIndex,
    },
    canonical_block: mined && blockFacts(mined.blockNumber, block),
  };
  if (mined === null || block?.hash !== mined.blockHash) {
    return { facts, confirmations: null, finality: null };
  }
  return { facts, ...depthOf(mined.blockNumber, heads) };
}

/**
 * Reads only the current block at `number`, for a document that proves what the block holds: two requests at most. The
 * transaction and its receipt are null. Rejects with `ProviderError` if the node does not have the block: that refutes
 * nothing.
 */
export async function readBlockAt(ask: Ask, number: bigint): Promise<AnchorReading> {
  const rule = finalityRule(null);
  const [chainId, header, ...tops] = await ask([
    { method: 'eth_chainId', params: [] },
    { method: 'eth_getHeaderByNumber', params: [`0x${number.toString(16)}`] },
    ...headCalls(rule),
  ]);
  const heads = headsOf(tops, rule);
  const found = header?.ok && header.result !== null ? headerAt(number, header.result) : null;
  // Few nodes have this method.
  const block = found ?? (await readBlock(ask, number));
  if (block === null) throw new ProviderError(`this node does not have block ${number}`);
  return {
    facts: {
      chain_id: numberOf(resultOf(chainId), 'eth_chainId'),
      tx: null,
      receipt: null,
      canonical_block: blockFacts(number, block),
    },
    ...depthOf(number, heads),
  };
}

/** Combines the results of several URLs for one transaction by `agreedByQuorum`. */
export function readingByQuorum(
  readings: readonly AnchorReading[],
  still: Still & { quorum: number },
): AnchorReading | undefined {
  const agreed = agreedByQuorum(
    readings,
    {
      text: ({ facts }) => JSON.stringify(facts),
      isPresent: ({ confirmations }) => confirmations !== null,
    },
    still,
  );
  if (agreed?.[0] === undefined) return undefined;
  return { facts: agreed[0].facts, ...lowestDepth(agreed) };
}

/**
 * Whether the node has the block at `number` with this transaction in its list. Then a node that does not know the
 * transaction has pruned it (EIP-4444), which says nothing against it.
 */
export async function listsTransaction(ask: Ask, number: bigint, txHash: Hex): Promise<boolean> {
  return (await readBlock(ask, number))?.transactions.has(txHash) ?? false;
}

/** Null if the place contains another transaction, or the node does not support these calls. */
async function readPlace(
  ask: Ask,
  txHash: Hex,
  { blockHash, txIndex }: StatedPlace,
): Promise<{ transaction: Transaction | null; mined: TransactionReceipt | null }> {
  const [tx, receipts] = await ask([
    {
      method: 'eth_getTransactionByBlockHashAndIndex',
      params: [blockHash, `0x${txIndex.toString(16)}`],
    },
    { method: 'eth_getBlockReceipts', params: [blockHash] },
  ]);
  const transaction = tx?.ok ? transactionOf(tx.result) : null;
  const list = receipts?.ok && Array.isArray(receipts.result) ? receipts.result : [];
  const mined = receiptOf(list[txIndex] ?? null);
  return {
    transaction: transaction?.hash === txHash ? transaction : null,
    mined: mined?.txHash === txHash && mined.blockHash === blockHash ? mined : null,
  };
}

/** The error code of EIP-4444 for history that a node has dropped. */
const PRUNED = 4444;

/** As `resultOf`, for what a node may have dropped. */
function keptResultOf(answer: RpcAnswer | undefined): unknown {
  if (answer?.ok === false && answer.refusal.rpcCode === PRUNED) throw prunedError();
  return resultOf(answer);
}

/** The node had the transaction once, which says nothing against it. */
export function prunedError(): ProviderError {
  return new ProviderError('this node no longer keeps the transaction');
}

function blockFacts(
  number: bigint,
  block: Pick<Block, 'hash' | 'timestamp'> | null,
): ChainFacts['canonical_block'] {
  if (block === null) return null;
  const timestamp = new Date(block.timestamp).toISOString();
  return { hash: block.hash, number: number.toString(), timestamp };
}

/** The lowest first; null: not in the canonical chain. */
const finalities: readonly (Finality | null)[] = [null, 'included', 'safe', 'finalized'];

/** The lowest confirmations and the lowest finality of several readings. */
export function lowestDepth(readings: readonly Depth[]): Depth {
  const counts = readings.map(({ confirmations }) => confirmations ?? 0n);
  const ranks = readings.map(({ finality }) => finalities.indexOf(finality));
  return {
    confirmations: counts.reduce(lesser) || null,
    finality: finalities[Math.min(...ranks)] ?? null,
  };
}
