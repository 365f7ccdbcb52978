// Stores tasks: claims, the task list, public anchors and lookups of anchor transactions.

import type { Database } from 'better-sqlite3';
import type { Hex } from '../../../proof/bytes.ts';
import type { NewTask, TaskRecord, TaskStore, Viewer } from '../../ports/tasks.ts';
import {
  type CompletionRow,
  claimedTask,
  isSameClaim,
  type ReceiptRow,
  type TaskListRow,
  type TaskRow,
  toCompletion,
  toListedTask,
  toReceipt,
  toTask,
} from '../rows/tasks.ts';
import type { Access } from './engine/connections.ts';
import { lastSeen } from './robots.ts';

/**
 * The state of a completion and the time of its last change, from the task `t`, its completion `c` and its live attempt
 * `a`. A verified task has the state of its attempt, and is `reorged` while no attempt is both mined and settled.
 */
export const COMPLETION_STATE = `CASE
    WHEN t.status = 'claimed' THEN c.state
    WHEN c.state = 'included' AND a.state IN ('included', 'finalized') THEN a.state
    ELSE 'reorged' END AS state,
  iif(c.state = 'included', max(c.updated_at, a.updated_at), c.updated_at) AS updated_at`;

/** Reads a task with its completion and receipt, on the given connection. */
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

const SELECT = `SELECT t.id, t.robot_id, t.title, t.description, t.occurred_at, t.created_at,
    t.status, ${COMPLETION_STATE}, c.proof_hash, a.chain_id,
    (SELECT count(*) FROM leaves WHERE task_id = t.id) AS attempts,
    coalesce(a.mined_tx_hash, (SELECT v.tx_hash FROM variants v WHERE v.attempt_id = a.id
                               ORDER BY v.seq DESC LIMIT 1)) AS tx_hash
  FROM tasks t
  LEFT JOIN completions c ON c.task_id = t.id
  LEFT JOIN leaves l ON l.task_id = t.id AND l.live = 1
  LEFT JOIN attempts a ON a.id = l.attempt_id`;

const statuses = ['claimed', 'verified'] as const;

/** A robot sees its own tasks, an account those of all its robots. */
export function isVisibleTo(task: TaskRecord, viewer: Viewer): boolean {
  return 'robotId' in viewer ? task.robotId === viewer.robotId : task.wallet === viewer.wallet;
}

export function taskStore({
  reader,
  writer,
  write,
  read,
}: Access): Pick<
  TaskStore,
  'createTask' | 'getTask' | 'findPublicAnchor' | 'hasAnchorTransaction'
> {
  const readTask = taskReader(reader);
  const readTaskInWrite = taskReader(writer);
  const seen = lastSeen(writer);
  const robotOfKey = writer.prepare<[string, string]>(
    'SELECT 1 FROM robots WHERE id = ? AND key_hash = ?',
  );
  // Inserts nothing if the key was revoked or the id is taken; only then do further statements find out which.
  const insert = writer.prepare<
    [string, string, string | null, string | null, string | null, number, string, string, string],
    { wallet: string }
  >(
    `INSERT INTO tasks (id, robot_id, wallet, title, description, expected_result, occurred_at,
       created_at)
     SELECT ?, id, wallet, ?, ?, ?, ?, ? FROM robots
     WHERE id = ? AND key_hash = ? AND NOT EXISTS (SELECT 1 FROM tombstones WHERE task_id = ?)
     ON CONFLICT (id) DO NOTHING RETURNING wallet`,
  );
  const firstAnchored = reader.prepare<[Hex], { task_id: string }>(
    'SELECT task_id FROM receipts WHERE proof_hash = ? ORDER BY seq LIMIT 1',
  );
  const firstQueued = reader.prepare<[Hex], { task_id: string }>(
    'SELECT task_id FROM completions WHERE proof_hash = ? ORDER BY reserve_seq LIMIT 1',
  );
  const occurrences = reader.prepare<[Hex], { occurrences: number }>(
    'SELECT occurrences FROM proof_hashes WHERE proof_hash = ?',
  );
  const robotName = reader.prepare<[string], { name: string }>(
    'SELECT name FROM robots WHERE id = ?',
  );
  const proven = reader.prepare<[string], { blockHash: Hex; txIndex: number; rawTx: Hex }>(
    `SELECT a.mined_block_hash AS blockHash, a.mined_tx_index AS txIndex, v.raw_tx AS rawTx
     FROM receipts r
     JOIN attempts a ON a.id = r.attempt_id
     JOIN variants v ON v.tx_hash = a.mined_tx_hash
     JOIN chain_proofs p ON p.attempt_id = a.id
     WHERE r.task_id = ? AND p.header IS NOT NULL`,
  );
  const signed = reader.prepare<[Hex]>('SELECT 1 FROM variants WHERE tx_hash = ?');

  function create(task: NewTask): Awaited<ReturnType<TaskStore['createTask']>> {
    const { id, robotId, keyHash, createdAt } = task;
    const inserted = insert.get(
      id,
      task.title,
      task.description,
      task.expectedResult,
      task.occurredAt,
      createdAt,
      robotId,
      keyHash,
      id,
    );
    if (inserted !== undefined) {
      seen(robotId, createdAt);
      return { outcome: 'created', task: claimedTask(task, inserted.wallet) };
    }
    if (robotOfKey.get(robotId, keyHash) === undefined) return { outcome: 'key_revoked' };
    const stored = readTaskInWrite(id);
    if (stored === null || !task.idGiven || !isSameClaim(stored, task)) {
      return { outcome: 'id_conflict' };
    }
    seen(robotId, createdAt);
    return { outcome: 'repeated', task: stored };
  }

  return {
    createTask: (task) => write(() => create(task)),

    getTask: (id, viewer) =>
      read(() => {
        const task = readTask(id);
        return task !== null && isVisibleTo(task, viewer) ? task : null;
      }),

    findPublicAnchor: (proofHash, taskId) =>
      read(() => {
        const id =
          taskId ?? (firstAnchored.get(proofHash) ?? firstQueued.get(proofHash))?.task_id ?? null;
        const task = id === null ? null : readTask(id);
        if (task?.completion?.proofHash !== proofHash) return null;
        const robot = robotName.get(task.robotId);
        const count = occurrences.get(proofHash);
        if (robot === undefined || count === undefined) return null;
        return {
          task,
          robotName: robot.name,
          occurrences: count.occurrences,
          proven: proven.get(task.id) ?? null,
        };
      }),

    hasAnchorTransaction: (txHash) => read(() => signed.get(txHash) !== undefined),
  };
}

export function taskListStore({ reader, read }: Access): Pick<TaskStore, 'listTasks'> {
  const page = (condition: string) =>
    reader.prepare<(string | number)[], TaskListRow>(
      `${SELECT} WHERE ${condition} AND t.status = ? AND (t.created_at, t.id) < (?, ?)
       ORDER BY t.created_at DESC, t.id DESC LIMIT ?`,
    );
  const ofAccount = page('t.wallet = ?');
  const ofRobot = page('t.robot_id = ?');

  const ownRobot = reader.prepare<[string, string]>(
    'SELECT 1 FROM robots WHERE id = ? AND wallet = ?',
  );

  return {
    listTasks: ({ wallet, status, robotId }, limit, after) =>
      read(() => {
        if (robotId !== null && ownRobot.get(robotId, wallet) === undefined) return null;
        const { at, id } = after ?? { at: Number.MAX_SAFE_INTEGER, id: '' };
        const rowsOf = (wanted: 'claimed' | 'verified') =>
          robotId === null
            ? ofAccount.all(wallet, wanted, at, id, limit)
            : ofRobot.all(robotId, wanted, at, id, limit);
        const rows = status === null ? statuses.flatMap(rowsOf) : rowsOf(status);
        return rows.sort(newestFirst).slice(0, limit).map(toListedTask);
      }),
  };
}

function newestFirst(a: TaskListRow, b: TaskListRow): number {
  if (a.created_at !== b.created_at) return b.created_at - a.created_at;
  return a.id < b.id ? 1 : -1;
}
