// Stores tasks: claims, the task list, public anchors and lookups of anchor transactions.

import type { Database } from 'better-sqlite3';
import type { Hex } from '../../../proof/bytes.ts';
import type { NewTask, TaskRecord, TaskStore } from '../../ports/tasks.ts';
import { rowBytes } from '../../rules/storage.ts';
import type { FindTasks } from '../anchor-changes.ts';
import {
  claimedTask,
  FIND_PUBLIC_ANCHOR,
  FIND_TASK,
  FIND_VISIBLE_TASK,
  isSameClaim,
  LIST_COLUMNS,
  type PublicAnchorRow,
  type TaskListRow,
  type TaskRow,
  toListedTask,
  toPublicAnchor,
  toTask,
  viewerValues,
  WITH_ATTEMPT,
} from '../rows/tasks.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { type Access, numbered } from './engine/connections.ts';
import { lastSeen } from './robots.ts';

/** Reads a task with its completion and receipt, on the given connection. */
export function taskReader(db: Database): (id: string) => TaskRecord | null {
  const find = db.prepare<object, TaskRow>(FIND_TASK);
  return (id) => {
    const row = find.get(numbered(id));
    return row === undefined ? null : toTask(row);
  };
}

const statuses = ['claimed', 'verified'] as const;

export function taskStore(
  { reader, writer, write, read }: Access,
  usage: StorageUsage,
): Pick<TaskStore, 'createTask' | 'getTask' | 'findPublicAnchor' | 'hasAnchorTransaction'> {
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
  const visible = reader.prepare<object, TaskRow>(FIND_VISIBLE_TASK);
  const publicAnchor = reader.prepare<object, PublicAnchorRow>(FIND_PUBLIC_ANCHOR);
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
    async createTask(task) {
      const result = await write(() => create(task));
      if (result.outcome === 'created') {
        const { wallet, title, description, expectedResult } = result.task;
        usage.add(wallet, rowBytes(title, description, expectedResult));
      }
      return result;
    },

    getTask: (id, viewer) =>
      read(() => {
        const row = visible.get(numbered(id, ...viewerValues(viewer)));
        return row === undefined ? null : toTask(row);
      }),

    findPublicAnchor: (proofHash, taskId) =>
      read(() => {
        const row = publicAnchor.get(numbered(proofHash, taskId));
        return row === undefined ? null : toPublicAnchor(row);
      }),

    hasAnchorTransaction: (txHash) => read(() => signed.get(txHash) !== undefined),
  };
}

export function taskListStore({ reader, read }: Access): Pick<TaskStore, 'listTasks'> {
  const page = (condition: string) =>
    reader.prepare<(string | number)[], TaskListRow>(
      `SELECT ${LIST_COLUMNS} FROM tasks t ${WITH_ATTEMPT} WHERE ${condition} AND t.status = ? AND (t.created_at, t.id) < (?, ?)
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

export function taskOwners({ reader, read }: Access): FindTasks {
  const find = reader.prepare<[string | null, string], { id: string; wallet: string }>(
    `SELECT id, wallet FROM tasks WHERE id IN (
       SELECT task_id FROM leaves WHERE attempt_id = ? UNION ALL SELECT value FROM json_each(?))`,
  );
  return (attemptId, taskIds) => read(() => find.all(attemptId, JSON.stringify(taskIds)));
}

function newestFirst(a: TaskListRow, b: TaskListRow): number {
  if (a.createdAt !== b.createdAt) return b.createdAt - a.createdAt;
  return a.id < b.id ? 1 : -1;
}
