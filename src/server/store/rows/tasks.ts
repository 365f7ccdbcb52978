// SQL of tasks that both databases run, and their rows.

import type { Hex } from '../../../proof/bytes.ts';
import type { Finality } from '../../../protocol/resources.ts';
import type { AttemptState } from '../../ports/anchoring.ts';
import type {
  AnchorProgress,
  CompletionRecord,
  NewTask,
  PublicAnchor,
  ReceiptRecord,
  TaskListRecord,
  TaskRecord,
  Viewer,
} from '../../ports/tasks.ts';

type OrNull<Row> = { [Member in keyof Row]: Row[Member] | null };

type CompletionRow = Omit<CompletionRecord, 'receipt'>;

interface ReceiptRow {
  leafIndex: number;
  path: string;
  attemptState: AttemptState;
  safe: 0 | 1 | boolean;
  chainId: number;
  sender: string;
  root: Hex | null;
  leafCount: number;
  minedTxHash: Hex;
  minedBlockNumber: number;
  minedAt: number;
}

/** A task with its completion and receipt. Their members are null if there is none. */
export type TaskRow = Omit<TaskRecord, 'completion'> & OrNull<CompletionRow> & OrNull<ReceiptRow>;

/**
 * The progress of the task `t`, its completion `c` and its live attempt `a`. A verified task has the state of its
 * attempt, and is `reorged` while no attempt is both mined and settled. The newest transaction is that of the live
 * attempt. Nulls if there is no completion.
 */
const PROGRESS = `CASE
    WHEN c.task_id IS NULL OR t.status = 'claimed' THEN c.state
    WHEN c.state = 'included' AND a.state IN ('included', 'finalized') THEN a.state
    ELSE 'reorged' END AS state,
  CASE WHEN c.state = 'included' AND a.updated_at > c.updated_at THEN a.updated_at
    ELSE c.updated_at END AS "updatedAt",
  c.proof_hash AS "proofHash",
  (SELECT count(*) FROM leaves s WHERE s.task_id = t.id) AS attempts,
  coalesce(a.mined_tx_hash, (SELECT v.tx_hash FROM variants v WHERE v.attempt_id = a.id
                             ORDER BY v.seq DESC LIMIT 1)) AS "txHash"`;

const COLUMNS = `t.id, t.robot_id AS "robotId", t.title, t.description,
  t.occurred_at AS "occurredAt", t.created_at AS "createdAt", t.status,
  t.credit_refused_at AS "creditRefusedAt", ${PROGRESS}`;

/** The columns of a `TaskListRow`. They need `WITH_ATTEMPT`. */
export const LIST_COLUMNS = `${COLUMNS}, a.chain_id AS "chainId"`;

/** Joins the completion `c` and the live attempt `a` to the task `t`. */
export const WITH_ATTEMPT = `LEFT JOIN completions c ON c.task_id = t.id
  LEFT JOIN leaves l ON l.task_id = t.id AND l.live
  LEFT JOIN attempts a ON a.id = l.attempt_id`;

/** The columns of a `TaskRow`. They need `TASK_JOINS`. */
export const TASK_COLUMNS = `${COLUMNS}, t.wallet, t.expected_result AS "expectedResult",
  c.claim_hash AS "claimHash", c.leaf, r.leaf_index AS "leafIndex", rl.path,
  ra.state AS "attemptState", ra.safe, ra.chain_id AS "chainId", ra.sender, ra.root,
  ra.leaf_count AS "leafCount", ra.mined_tx_hash AS "minedTxHash",
  ra.mined_block_number AS "minedBlockNumber", ra.mined_at AS "minedAt"`;

/** Joins completion, attempt, receipt, its attempt and its leaf to the task `t`. */
export const TASK_JOINS = `${WITH_ATTEMPT}
  LEFT JOIN receipts r ON r.task_id = t.id
  LEFT JOIN attempts ra ON ra.id = r.attempt_id
  LEFT JOIN leaves rl ON rl.attempt_id = r.attempt_id AND rl.leaf_index = r.leaf_index`;

/** Visibility of the task `t`: to its robot `$2`, or to its account `$3`. See `viewerValues`. */
export const IS_VISIBLE = '(t.robot_id = $2 OR t.wallet = $3)';

/** `$2` and `$3` of `IS_VISIBLE`. */
export function viewerValues(viewer: Viewer): [robotId: string | null, wallet: string | null] {
  return viewer.robotId === undefined ? [null, viewer.wallet ?? null] : [viewer.robotId, null];
}

export const FIND_TASK = `SELECT ${TASK_COLUMNS} FROM tasks t ${TASK_JOINS} WHERE t.id = $1`;

export const FIND_VISIBLE_TASK = `${FIND_TASK} AND ${IS_VISIBLE}`;

/** The task `$2` with the proof hash `$1`; if `$2` is null, the first one that was anchored, or else queued. */
export const FIND_PUBLIC_ANCHOR = `SELECT ${TASK_COLUMNS}, robots.name AS "robotName", p.occurrences,
    ra.mined_block_hash AS "blockHash", ra.mined_tx_index AS "txIndex", rv.raw_tx AS "rawTx",
    cp.header IS NOT NULL AS "isProven"
  FROM tasks t ${TASK_JOINS}
  JOIN robots ON robots.id = t.robot_id
  JOIN proof_hashes p ON p.proof_hash = c.proof_hash
  LEFT JOIN chain_proofs cp ON cp.attempt_id = ra.id
  LEFT JOIN variants rv ON rv.tx_hash = ra.mined_tx_hash
  WHERE c.proof_hash = $1 AND t.id = coalesce($2,
    (SELECT task_id FROM receipts WHERE proof_hash = $1 ORDER BY seq LIMIT 1),
    (SELECT task_id FROM completions WHERE proof_hash = $1 ORDER BY reserve_seq LIMIT 1))`;

export interface PublicAnchorRow extends TaskRow {
  robotName: string;
  occurrences: number;
  blockHash: Hex;
  txIndex: number;
  rawTx: Hex;
  isProven: 0 | 1 | boolean;
}

export function toPublicAnchor(row: PublicAnchorRow): PublicAnchor {
  const { robotName, occurrences, blockHash, txIndex, rawTx, isProven } = row;
  const proven = isProven ? { blockHash, txIndex, rawTx } : null;
  return { task: toTask(row), robotName, occurrences, proven };
}

export function toTask(row: TaskRow): TaskRecord {
  return {
    id: row.id,
    robotId: row.robotId,
    wallet: row.wallet,
    title: row.title,
    description: row.description,
    expectedResult: row.expectedResult,
    occurredAt: row.occurredAt,
    createdAt: row.createdAt,
    status: row.status,
    creditRefusedAt: row.creditRefusedAt,
    completion: isCompleted(row) ? toCompletion(row) : null,
  };
}

function toCompletion(row: TaskRow & CompletionRow): CompletionRecord {
  return {
    state: row.state,
    proofHash: row.proofHash,
    claimHash: row.claimHash,
    leaf: row.leaf,
    attempts: row.attempts,
    txHash: row.txHash,
    updatedAt: row.updatedAt,
    receipt: isAnchored(row) ? toReceipt(row) : null,
  };
}

function toReceipt(row: ReceiptRow): ReceiptRecord {
  const { root, leafIndex: leaf_index, leafCount: leaf_count } = row;
  return {
    chainId: row.chainId,
    txHash: row.minedTxHash,
    from: row.sender,
    blockNumber: BigInt(row.minedBlockNumber),
    anchoredAt: row.minedAt,
    inclusion: root === null ? null : { root, leaf_index, leaf_count, path: JSON.parse(row.path) },
    finality: finalityOf(row),
  };
}

function isCompleted(row: TaskRow): row is TaskRow & CompletionRow {
  return row.state !== null;
}

function isAnchored<Row extends TaskRow>(row: Row): row is Row & ReceiptRow {
  return row.attemptState !== null;
}

/** The task as its claim stores it. A literal instead of a spread: docs/performance.md, "Object literals". */
export function claimedTask(task: NewTask, wallet: string): TaskRecord {
  return {
    id: task.id,
    robotId: task.robotId,
    wallet,
    title: task.title,
    description: task.description,
    expectedResult: task.expectedResult,
    occurredAt: task.occurredAt,
    createdAt: task.createdAt,
    status: 'claimed',
    creditRefusedAt: null,
    completion: null,
  };
}

/** Compares the documents as text: they are canonical JSON, so equal content is equal text. */
export function isSameClaim(stored: TaskRecord, task: NewTask): boolean {
  return (
    stored.robotId === task.robotId &&
    stored.title === task.title &&
    stored.description === task.description &&
    stored.expectedResult === task.expectedResult &&
    stored.occurredAt === task.occurredAt
  );
}

export type TaskListRow = Omit<TaskListRecord, 'progress'> &
  Omit<AnchorProgress, 'state'> & { state: AnchorProgress['state'] | null };

export function toListedTask(row: TaskListRow): TaskListRecord {
  const { state, proofHash, attempts, txHash, updatedAt, chainId, ...task } = row;
  const progress = state && { state, proofHash, attempts, txHash, updatedAt, chainId };
  return { ...task, progress };
}

/** The attempt of a receipt was mined. In any state but `included` and `finalized` it was reorganized out. */
function finalityOf({ attemptState: state, safe }: ReceiptRow): Finality {
  if (state === 'finalized') return 'finalized';
  if (state !== 'included') return 'reorged';
  return safe ? 'safe' : 'included';
}
