import type { Database } from 'better-sqlite3';
import type { TaskRecord, Viewer } from '../../core/ports.ts';
import {
  type CompletionRow,
  type ReceiptRow,
  type TaskRow,
  toCompletion,
  toReceipt,
  toTask,
} from '../task-rows.ts';

/**
 * How a completion stands and since when, over the task `t`, its completion `c` and its live attempt `a`. A
 * verified task's follows its attempt, and is `reorged` while it has none that is in a block and settled.
 */
export const COMPLETION_STATE = `CASE
    WHEN t.status = 'claimed' THEN c.state
    WHEN c.state = 'included' AND a.state IN ('included', 'finalized') THEN a.state
    ELSE 'reorged' END AS state,
  iif(c.state = 'included', max(c.updated_at, a.updated_at), c.updated_at) AS updated_at`;

/** Reads a whole task on the given connection. */
export function taskReader(db: Database): (id: string) => TaskRecord | null {
  const task = db.prepare<[string], TaskRow>(
    `SELECT id, robot_id, wallet, title, description, expected_result, occurred_at, created_at, status
     FROM tasks WHERE id = ?`,
  );
  const completion = db.prepare<[string], CompletionRow>(
    `SELECT ${COMPLETION_STATE}, c.proof_hash, c.claim_hash, c.leaf,
       (SELECT count(*) FROM leaves WHERE task_id = c.task_id) AS attempts,
       coalesce(a.mined_tx_hash, (SELECT v.tx_hash FROM variants v WHERE v.attempt_id = a.id
                                  ORDER BY v.seq DESC LIMIT 1)) AS tx_hash
     FROM completions c JOIN tasks t ON t.id = c.task_id
     LEFT JOIN leaves l ON l.task_id = c.task_id AND l.live = 1
     LEFT JOIN attempts a ON a.id = l.attempt_id
     WHERE c.task_id = ?`,
  );
  const receipt = db.prepare<[string], ReceiptRow>(
    `SELECT r.leaf_index, l.path, a.state AS attempt_state, a.safe, a.chain_id, a.sender, a.root,
       a.leaf_count, a.mined_tx_hash, a.mined_block_number, a.mined_at
     FROM receipts r
     JOIN attempts a ON a.id = r.attempt_id
     JOIN leaves l ON l.attempt_id = r.attempt_id AND l.leaf_index = r.leaf_index
     WHERE r.task_id = ?`,
  );
  return (id) => {
    const row = task.get(id);
    if (row === undefined) return null;
    const completed = completion.get(id);
    if (completed === undefined) return toTask(row, null);
    const anchored = receipt.get(id);
    return toTask(
      row,
      toCompletion(completed, anchored === undefined ? null : toReceipt(anchored)),
    );
  };
}

/** A robot sees its own tasks, an account those of all its robots. */
export function isVisibleTo(task: TaskRecord, viewer: Viewer): boolean {
  return 'robotId' in viewer ? task.robotId === viewer.robotId : task.wallet === viewer.wallet;
}
