// Converts rows of attempts, variants, queued proofs and fee quotes.

import { runYielding } from '../../../base/cooperative-yield.ts';
import type { Hex } from '../../../proof/bytes.ts';
import { growMerkleTree } from '../../../proof/tree.ts';
import type {
  AttemptState,
  FeeQuote,
  IncludedAttempt,
  OpenAttempt,
  QueuedProof,
  Variant,
} from '../../ports/anchoring.ts';

export interface OpenAttemptRow {
  id: string;
  nonce: number;
  state: AttemptState;
  payload: Hex;
  leaf_count: number;
  unsettled_leaves: number;
  mined_tx_hash: Hex | null;
  taken_by: Hex | null;
  created_at: number;
}

export interface IncludedRow {
  id: string;
  mined_tx_hash: Hex;
  mined_block_number: number;
  mined_block_hash: Hex;
  safe: boolean | 0 | 1;
}

export interface MinedRow extends IncludedRow {
  state: AttemptState;
  raw_tx: Hex;
}

export interface VariantRow {
  tx_hash: Hex;
  raw_tx: Hex;
  max_fee_per_gas: string;
  max_priority_fee_per_gas: string;
}

export const VARIANT_COLUMNS = 'tx_hash, raw_tx, max_fee_per_gas, max_priority_fee_per_gas';

/** `variants` must be in the order in which they were signed. */
export function toOpenAttempt(row: OpenAttemptRow, variants: Variant[]): OpenAttempt {
  return {
    id: row.id,
    nonce: row.nonce,
    state: row.state,
    payload: row.payload,
    leafCount: row.leaf_count,
    unsettledLeaves: row.unsettled_leaves,
    variants,
    minedTxHash: row.mined_tx_hash,
    takenBy: row.taken_by,
    createdAt: row.created_at,
  };
}

export function toIncluded(row: IncludedRow): IncludedAttempt {
  return {
    id: row.id,
    txHash: row.mined_tx_hash,
    blockNumber: BigInt(row.mined_block_number),
    blockHash: row.mined_block_hash,
    isSafe: Boolean(row.safe),
  };
}

export function toVariant(row: VariantRow): Variant {
  return {
    txHash: row.tx_hash,
    rawTx: row.raw_tx,
    maxFeePerGas: BigInt(row.max_fee_per_gas),
    maxPriorityFeePerGas: BigInt(row.max_priority_fee_per_gas),
  };
}

/** @throws Error unless `replaces` names the newest variant and both fees of `variant` are higher. */
export function requireDearer(variant: Variant, newest: Variant, replaces: Hex): void {
  const isDearer =
    variant.maxFeePerGas > newest.maxFeePerGas &&
    variant.maxPriorityFeePerGas > newest.maxPriorityFeePerGas;
  if (newest.txHash === replaces && isDearer) return;
  throw new Error('A variant must replace the newest one and have higher fees');
}

export interface QueuedRow {
  task_id: string;
  proof_hash: Hex;
  leaf: Hex;
  generation: number;
  queued_at: number;
}

export const QUEUED_COLUMNS = 'task_id, proof_hash, leaf, generation, queued_at';

export function toQueuedProof(row: QueuedRow): QueuedProof {
  return {
    taskId: row.task_id,
    proofHash: row.proof_hash,
    leaf: row.leaf,
    generation: row.generation,
    queuedAt: row.queued_at,
  };
}

export interface QuoteRow {
  single_gas: string | null;
  base_fee_per_gas: string | null;
  max_priority_fee_per_gas: string | null;
  data_fee_wei: string | null;
}

export function toQuote(row: QuoteRow): FeeQuote | null {
  const { single_gas, base_fee_per_gas, max_priority_fee_per_gas, data_fee_wei } = row;
  if (
    single_gas === null ||
    base_fee_per_gas === null ||
    max_priority_fee_per_gas === null ||
    data_fee_wei === null
  ) {
    return null;
  }
  return {
    singleGas: BigInt(single_gas),
    baseFeePerGas: BigInt(base_fee_per_gas),
    maxPriorityFeePerGas: BigInt(max_priority_fee_per_gas),
    dataFeeWei: BigInt(data_fee_wei),
  };
}

/** The inclusion path of a leaf by its index in the attempt. */
export type PathOf = (leafIndex: number) => Hex[];

/** Attempts that are settled at the same time; more come from attempts that never finish here, and are forgotten. */
const KEPT_TREES = 16;

/**
 * Computes the inclusion paths of attempts from their leaves, and keeps them until `forget`. The paths are stored at
 * settlement, not before the broadcast: they are ten times the bytes of the rest and would make that commit long.
 */
export function inclusionPaths(readLeaves: (attemptId: string) => Promise<Hex[]>): {
  of(attemptId: string): Promise<PathOf>;
  forget(attemptId: string): void;
} {
  const known = new Map<string, PathOf>();
  return {
    async of(attemptId) {
      const before = known.get(attemptId);
      if (before !== undefined) return before;
      const leaves = await readLeaves(attemptId);
      if (leaves.length < 2) return () => [];
      const { path } = await runYielding(growMerkleTree(leaves));
      known.set(attemptId, path);
      const [oldest] = known.keys();
      if (known.size > KEPT_TREES && oldest !== undefined) known.delete(oldest);
      return path;
    },
    forget(attemptId) {
      known.delete(attemptId);
    },
  };
}
