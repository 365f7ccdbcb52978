// SQL of attempts, queued proofs, fee quotes and chain proofs that both databases run, and their rows.
import { runYielding } from '../../../base/cooperative-yield.ts';
import { SvcError } from '../../../base/svc-error.ts';
import type { Hex } from '../../../proof/bytes.ts';
import type { ChainProof } from '../../../proof/chain-proof.ts';
import { growMerkleTree } from '../../../proof/tree.ts';
import type {
  ChainIdentity,
  FeeQuote,
  IncludedAttempt,
  MinedAttempt,
  UnprovenAnchor,
  Variant,
} from '../../ports/anchoring.ts';
import type { Backlog } from '../../ports/operations.ts';
import type { InText } from '../engine/steps.ts';

export const OPEN_ATTEMPT_COLUMNS = `id, nonce, state, payload,
  unsettled_leaves AS "unsettledLeaves", mined_tx_hash AS "minedTxHash", created_at AS "createdAt"`;

export interface IncludedRow extends Omit<IncludedAttempt, 'blockNumber' | 'isSafe'> {
  blockNumber: number;
  isSafe: boolean | 0 | 1;
}

export interface MinedRow extends IncludedRow, Pick<MinedAttempt, 'rawTx'> {
  isFinal: boolean | 0 | 1;
}

/** The columns of an `IncludedRow`, from the attempt `a`. */
const INCLUDED_COLUMNS = `a.id, a.mined_tx_hash AS "txHash", a.mined_block_number AS "blockNumber",
  a.mined_block_hash AS "blockHash", a.safe AS "isSafe"`;

const SELECT_INCLUDED = `SELECT ${INCLUDED_COLUMNS}
  FROM attempts a WHERE chain_id = $1 AND sender = $2 AND state = 'included'`;

/** Selects `$3` included attempts of the sender `$1`, `$2`: the lowest, the highest, or those below `$4`, `$5`. */
export const selectIncluded = {
  lowest: `${SELECT_INCLUDED} ORDER BY mined_block_number, id LIMIT $3`,
  highest: `${SELECT_INCLUDED} ORDER BY mined_block_number DESC, id DESC LIMIT $3`,
  below: `${SELECT_INCLUDED} AND (mined_block_number, id) < ($4, $5)
    ORDER BY mined_block_number DESC, id DESC LIMIT $3`,
};

/** Selects the first `$4` mined attempts of the sender `$1`, `$2` from the nonce `$3` on. */
export const SELECT_MINED = `SELECT ${INCLUDED_COLUMNS}, a.state = 'finalized' AS "isFinal",
    v.raw_tx AS "rawTx"
  FROM attempts a JOIN variants v ON v.tx_hash = a.mined_tx_hash
  WHERE a.chain_id = $1 AND a.sender = $2 AND a.nonce >= $3 AND a.state IN ('included', 'finalized')
  ORDER BY a.nonce LIMIT $4`;

export const VARIANT_COLUMNS = `tx_hash AS "txHash", raw_tx AS "rawTx",
  max_fee_per_gas AS "maxFeePerGas", max_priority_fee_per_gas AS "maxPriorityFeePerGas"`;

export function toIncluded<Row extends IncludedRow>({ blockNumber, isSafe, ...row }: Row) {
  return { ...row, blockNumber: BigInt(blockNumber), isSafe: Boolean(isSafe) };
}

export function toMined({ isFinal, ...row }: MinedRow): MinedAttempt {
  return { ...toIncluded(row), isFinal: Boolean(isFinal) };
}

export function toVariant(row: InText<Variant>): Variant {
  const { txHash, rawTx, maxFeePerGas, maxPriorityFeePerGas: tip } = row;
  return { txHash, rawTx, maxFeePerGas: BigInt(maxFeePerGas), maxPriorityFeePerGas: BigInt(tip) };
}

/** @throws Error unless `replaces` names the newest variant and both fees of `variant` are higher. */
export function requireDearer(variant: Variant, newest: Variant, replaces: Hex): void {
  const isDearer =
    variant.maxFeePerGas > newest.maxFeePerGas &&
    variant.maxPriorityFeePerGas > newest.maxPriorityFeePerGas;
  if (newest.txHash === replaces && isDearer) return;
  throw new Error('A variant must replace the newest one and have higher fees');
}

export const QUEUED_COLUMNS = `task_id AS "taskId", proof_hash AS "proofHash", leaf, generation`;

/** The members are null until there is a quote. */
export type QuoteRow = Record<keyof FeeQuote, string | null>;

export const QUOTE_COLUMNS = `single_gas AS "singleGas", base_fee_per_gas AS "baseFeePerGas",
  max_priority_fee_per_gas AS "maxPriorityFeePerGas", data_fee_wei AS "dataFeeWei"`;

export function toQuote(row: QuoteRow): FeeQuote | null {
  const { singleGas, baseFeePerGas, maxPriorityFeePerGas: tip, dataFeeWei } = row;
  if (singleGas === null || baseFeePerGas === null || tip === null || dataFeeWei === null) {
    return null;
  }
  return {
    singleGas: BigInt(singleGas),
    baseFeePerGas: BigInt(baseFeePerGas),
    maxPriorityFeePerGas: BigInt(tip),
    dataFeeWei: BigInt(dataFeeWei),
  };
}

/** The condition of the index of open attempts, word for word: neither database uses the index for another wording. */
export const IS_OPEN = `(state IN ('signed', 'submitted', 'reorged')
  OR (state IN ('included', 'finalized') AND unsettled_leaves > 0))`;

export const READ_BACKLOG = `SELECT
    (SELECT count(*) FROM completions WHERE state = 'queued') AS queued,
    (SELECT min(queued_at) FROM completions WHERE state = 'queued') AS "oldestQueuedAt",
    (SELECT count(*) FROM attempts WHERE state = 'included') AS included,
    coalesce(sum(unsettled_leaves), 0) AS submitted,
    count(*) FILTER (WHERE state = 'signed') AS "openSigned",
    count(*) FILTER (WHERE state = 'submitted') AS "openSubmitted",
    count(*) FILTER (WHERE state = 'reorged') AS "openReorged",
    min(created_at) FILTER (WHERE state NOT IN ('included', 'finalized')) AS "oldestUnminedAt"
  FROM attempts WHERE ${IS_OPEN}`;

export interface BacklogRow extends Omit<Backlog, 'attempts'> {
  included: number;
  openSigned: number;
  openSubmitted: number;
  openReorged: number;
}

export function toBacklog(row: BacklogRow | undefined): Backlog {
  if (row === undefined) throw new Error('The backlog query returned no row');
  const { included, openSigned: signed, openSubmitted: submitted, openReorged: reorged } = row;
  const { queued, oldestQueuedAt, submitted: leaves, oldestUnminedAt } = row;
  const attempts = { signed, submitted, reorged, included };
  return { queued, oldestQueuedAt, submitted: leaves, attempts, oldestUnminedAt };
}

export const READ_IDENTITY =
  'SELECT chain_id AS "chainId", block_number AS "blockNumber", genesis_hash AS "blockHash" FROM chain_identity';

/** @throws SvcError `chain_mismatch` unless the database is bound to this chain. */
export function requireSameChain(bound: ChainIdentity | undefined, given: ChainIdentity): void {
  if (bound !== undefined && textOf(bound) === textOf(given)) return;
  throw new SvcError(
    'chain_mismatch',
    `This database belongs to ${bound && textOf(bound)}, but SVC_CHAIN_RPC_URL belongs to ${textOf(given)}.`,
    { hint: 'Set SVC_CHAIN_RPC_URL to a node of the first chain, or use another database.' },
  );
}

function textOf({ chainId, blockNumber, blockHash }: ChainIdentity): string {
  return `chain ${chainId} with block ${blockNumber} ${blockHash}`;
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

/** More missing chain proofs are not counted, so that a read of the metrics stays short where none is built. */
export const MOST_COUNTED = 100_000;

export type RecordedAnchorRow = Omit<UnprovenAnchor, 'blockNumber'> & { blockNumber: number };

/** The columns of a `RecordedAnchorRow`, from the chain proof `p`, its attempt `a` and its mined variant `v`. */
export const RECORDED_ANCHOR_COLUMNS = `p.attempt_id AS "attemptId", a.chain_id AS "chainId", a.sender,
  a.payload, a.mined_tx_hash AS "txHash", v.raw_tx AS "rawTx", a.mined_block_number AS "blockNumber",
  a.mined_block_hash AS "blockHash", a.mined_tx_index AS "txIndex", p.tries`;

export function toRecordedAnchor(row: RecordedAnchorRow): UnprovenAnchor {
  return { ...row, blockNumber: BigInt(row.blockNumber) };
}

/** Null if no chain proof is stored. `nodes` is a JSON array. */
export interface ChainProofRow {
  header: Hex | null;
  nodes: string | null;
}

export function toChainProof({ header, nodes }: ChainProofRow): ChainProof | null {
  return header === null || nodes === null ? null : { header, nodes: JSON.parse(nodes) };
}
