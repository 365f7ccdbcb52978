// Claims tasks, and finds them in writes.

import type { NewTask, TaskStore } from '../../ports/tasks.ts';
import { rowBytes } from '../../rules/storage.ts';
import { rows, some } from '../engine/steps.ts';
import { eventSql } from '../events.ts';
import { claimedTask, isSameClaim } from '../rows/tasks.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { findTask } from '../tasks.ts';
import type { Access } from './engine/connections.ts';
import { runOn } from './engine/run-steps.ts';

export function claimStore({ writer, write }: Access, usage: StorageUsage) {
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
      run(rows(eventSql.seen, robotId, createdAt));
      return { outcome: 'created', task: claimedTask(task, inserted.wallet) };
    }
    if (!run(some(eventSql.lockRobot, robotId, keyHash))) return { outcome: 'key_revoked' };
    const stored = run(findTask(id));
    if (stored === null || !task.idGiven || !isSameClaim(stored, task)) {
      return { outcome: 'id_conflict' };
    }
    run(rows(eventSql.seen, robotId, createdAt));
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
