// Claims tasks, and finds them in writes.

import type { Database } from 'better-sqlite3';
import type { NewTask, TaskRecord, TaskStore } from '../../ports/tasks.ts';
import { rowBytes } from '../../rules/storage.ts';
import { some } from '../engine/steps.ts';
import { eventSql } from '../events.ts';
import { claimedTask, FIND_TASK, isSameClaim, type TaskRow, toTask } from '../rows/tasks.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { type Access, numbered } from './engine/connections.ts';
import { runOn } from './engine/steps.ts';
import { lastSeen } from './robots.ts';

/** Reads a task with its completion and receipt, on the given connection. */
export function taskReader(db: Database): (id: string) => TaskRecord | null {
  const find = db.prepare<object, TaskRow>(FIND_TASK);
  return (id) => {
    const row = find.get(numbered(id));
    return row === undefined ? null : toTask(row);
  };
}

export function claimStore({ writer, write }: Access, usage: StorageUsage) {
  const readTaskInWrite = taskReader(writer);
  const seen = lastSeen(writer);
  const run = runOn(writer);
  // Inserts nothing if the key was revoked or the id is taken; only then do further statements find out which.
  const insert = writer.prepare<[NewTask], { wallet: string }>(
    `INSERT INTO tasks (id, robot_id, wallet, title, description, expected_result, occurred_at,
       created_at)
     SELECT :id, id, wallet, :title, :description, :expectedResult, :occurredAt, :createdAt
     FROM robots WHERE id = :robotId AND key_hash = :keyHash
       AND NOT EXISTS (SELECT 1 FROM tombstones WHERE task_id = :id)
     ON CONFLICT (id) DO NOTHING RETURNING wallet`,
  );

  function create(task: NewTask): Awaited<ReturnType<TaskStore['createTask']>> {
    const { id, robotId, keyHash, createdAt } = task;
    const inserted = insert.get(task);
    if (inserted !== undefined) {
      seen(robotId, createdAt);
      return { outcome: 'created', task: claimedTask(task, inserted.wallet) };
    }
    if (!run(some(eventSql.lockRobot, robotId, keyHash))) return { outcome: 'key_revoked' };
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
  } satisfies Partial<TaskStore>;
}
