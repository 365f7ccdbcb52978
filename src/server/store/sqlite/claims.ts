// Stores claims of tasks.

import type { NewTask, TaskStore } from '../../ports/tasks.ts';
import { rowBytes } from '../../rules/storage.ts';
import type { Db, Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { lockRobot, markSeen } from '../robots.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { claimedTask, findTask, isSameClaim } from '../tasks.ts';

export function claimStore({ write }: Db, usage: StorageUsage) {
  return {
    async createTask(task) {
      const result = await write((tx) => claimTask(tx, task));
      if (result.outcome === 'created') {
        const { wallet, title, description, expectedResult } = result.task;
        usage.add(wallet, rowBytes(title, description, expectedResult));
      }
      return result;
    },
  } satisfies Partial<TaskStore>;
}

async function claimTask(tx: Tx, task: NewTask): ReturnType<TaskStore['createTask']> {
  const { id, robotId, keyHash, createdAt } = task;
  const mostSigns = task.isSigned ? 1 : 0;
  // Inserts nothing if the key was revoked, the id is taken or a statement is missing; only then do further statements
  // find out which.
  const inserted = await tx.get<{ wallet: string }>(sql`INSERT INTO tasks
      (id, robot_id, wallet, title, description, expected_result, occurred_at, created_at)
    SELECT ${id}, id, wallet, ${task.title}, ${task.description}, ${task.expectedResult},
      ${task.occurredAt}, ${createdAt}
    FROM robots WHERE id = ${robotId} AND key_hash = ${keyHash} AND signs <= ${mostSigns}
      AND NOT EXISTS (SELECT 1 FROM tombstones WHERE task_id = ${id})
    ON CONFLICT (id) DO NOTHING RETURNING wallet`);
  if (inserted !== null) {
    await markSeen(tx, robotId, createdAt);
    return { outcome: 'created', task: claimedTask(task, inserted.wallet) };
  }
  const robot = await lockRobot(tx, robotId, keyHash);
  if (robot === null) return { outcome: 'key_revoked' };
  if (robot.signs > mostSigns) return { outcome: 'statement_required' };
  const stored = await findTask(tx, id);
  if (stored === null || !task.idGiven || !isSameClaim(stored, task)) {
    return { outcome: 'id_conflict' };
  }
  await markSeen(tx, robotId, createdAt);
  return { outcome: 'repeated', task: stored };
}
