import type { TaskRecord, Viewer } from '../../core/ports.ts';
import {
  type CompletionRow,
  type ReceiptRow,
  type TaskRow,
  toCompletion,
  toReceipt,
  toTask,
} from '../task-rows.ts';
import type { Queries } from './connections.ts';
import { sql } from './sql.ts';

/** A task with its completion and its receipt; the members of those are null where there is none. */
export type WholeTaskRow = TaskRow & {
  [Member in keyof CompletionRow]: CompletionRow[Member] | null;
} & {
  [Member in keyof ReceiptRow]: ReceiptRow[Member] | null;
};

/**
 * How a completion stands and since when, over the task `t`, its completion `c` and its live attempt `a`. A
 * verified task's follows its attempt, and is `reorged` while it has none that is in a block and settled. Null where
 * there is no completion.
 */
export const COMPLETION_STATE = `CASE
    WHEN c.task_id IS NULL OR t.status = 'claimed' THEN c.state
    WHEN c.state = 'included' AND a.state IN ('included', 'finalized') THEN a.state
    ELSE 'reorged' END AS state,
  CASE WHEN c.state = 'included' THEN greatest(c.updated_at, a.updated_at)
    ELSE c.updated_at END AS updated_at`;

/** Over the task `t` and its live attempt `a`: how often it was signed, and its newest transaction. */
export const SIGNED = `(SELECT count(*) FROM leaves s WHERE s.task_id = t.id) AS attempts,
  coalesce(a.mined_tx_hash, (SELECT v.tx_hash FROM variants v WHERE v.attempt_id = a.id
                             ORDER BY v.seq DESC LIMIT 1)) AS tx_hash`;

/** The completion `c` of the task `t`, and its live attempt `a`. */
export const WITH_ATTEMPT = `LEFT JOIN completions c ON c.task_id = t.id
  LEFT JOIN leaves l ON l.task_id = t.id AND l.live
  LEFT JOIN attempts a ON a.id = l.attempt_id`;

/** The columns of a `WholeTaskRow`, over what `WHOLE_TASK_JOINS` joins to the task `t`. */
export const WHOLE_TASK_COLUMNS = `t.id, t.robot_id, t.wallet, t.title, t.description,
  t.expected_result, t.occurred_at, t.created_at, t.status,
  ${COMPLETION_STATE}, c.proof_hash, c.claim_hash, c.leaf, ${SIGNED},
  r.leaf_index, rl.path, ra.state AS attempt_state, ra.safe, ra.chain_id, ra.sender, ra.root,
  ra.leaf_count, ra.mined_tx_hash, ra.mined_block_number, ra.mined_at`;

export const WHOLE_TASK_JOINS = `${WITH_ATTEMPT}
  LEFT JOIN receipts r ON r.task_id = t.id
  LEFT JOIN attempts ra ON ra.id = r.attempt_id
  LEFT JOIN leaves rl ON rl.attempt_id = r.attempt_id AND rl.leaf_index = r.leaf_index`;

/** Over the task `t`: the robot `$2` sees its own, the account `$3` those of all its robots. See `viewerValues`. */
export const IS_VISIBLE = '(t.robot_id = $2::uuid OR t.wallet = $3::text)';

export function viewerValues(viewer: Viewer): [robotId: string | null, wallet: string | null] {
  return 'robotId' in viewer ? [viewer.robotId, null] : [null, viewer.wallet];
}

const find = sql(`SELECT ${WHOLE_TASK_COLUMNS} FROM tasks t ${WHOLE_TASK_JOINS} WHERE t.id = $1`);

export async function readTask(queries: Queries, id: string): Promise<TaskRecord | null> {
  const row = await queries.first<WholeTaskRow>(find, [id]);
  return row === undefined ? null : toWholeTask(row);
}

export function toWholeTask(row: WholeTaskRow): TaskRecord {
  if (!isCompleted(row)) return toTask(row, null);
  return toTask(row, toCompletion(row, isAnchored(row) ? toReceipt(row) : null));
}

function isCompleted(row: WholeTaskRow): row is WholeTaskRow & CompletionRow {
  return row.state !== null;
}

function isAnchored<Row extends WholeTaskRow>(row: Row): row is Row & ReceiptRow {
  return row.attempt_state !== null;
}
