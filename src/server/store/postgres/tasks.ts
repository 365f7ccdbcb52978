// Claims tasks, and finds them in writes.

import type { TaskStore } from '../../ports/tasks.ts';
import { rowBytes } from '../../rules/storage.ts';
import { claimedTask, isSameClaim } from '../rows/tasks.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { findTask } from '../tasks.ts';
import { sql } from './engine/connections.ts';
import { runSteps } from './engine/run-steps.ts';
import type { Access } from './engine/transactions.ts';

// No row if the robot or its key is gone. If the task was deleted while this statement waited for its id, the schema
// refuses the insert and the statement is retried.
const claim = sql(`WITH robot AS (
    SELECT id, wallet FROM robots WHERE id = $2 AND key_hash = $3 FOR UPDATE
  ), created AS (
    INSERT INTO tasks (id, robot_id, wallet, title, description, expected_result, occurred_at,
      created_at)
    SELECT $1::uuid, id, wallet, $4::text, $5::text, $6::text, $7::text, $8::bigint FROM robot
    WHERE NOT EXISTS (SELECT FROM tombstones WHERE task_id = $1)
    ON CONFLICT (id) DO NOTHING
    RETURNING robot_id
  ), seen AS (
    UPDATE robots SET last_seen_at = $8
    WHERE id IN (SELECT robot_id FROM created) AND (last_seen_at IS NULL OR last_seen_at < $8)
  )
  SELECT wallet, EXISTS (SELECT FROM created) AS created FROM robot`);
const seeAgain = sql(`UPDATE robots SET last_seen_at = $3
  WHERE id = $1 AND key_hash = $2 AND (last_seen_at IS NULL OR last_seen_at < $3)`);

export function claimStore(access: Access, usage: StorageUsage): Pick<TaskStore, 'createTask'> {
  return {
    async createTask(task) {
      const documents = [task.title, task.description, task.expectedResult];
      const key = [task.id, task.robotId, task.keyHash];
      const values = [...key, ...documents, task.occurredAt, task.createdAt];
      const claimed = await access.first<{ wallet: string; created: boolean }>(claim, values);
      if (claimed === undefined) return { outcome: 'key_revoked' };
      if (claimed.created) {
        usage.add(claimed.wallet, rowBytes(...documents));
        return { outcome: 'created', task: claimedTask(task, claimed.wallet) };
      }
      const stored = await runSteps(access, findTask(task.id));
      if (stored === null || !isSameClaim(stored, task)) return { outcome: 'id_conflict' };
      // An id made by the server exists only if the connection was lost after the commit of the first try.
      if (!task.idGiven) return { outcome: 'created', task: stored };
      await access.run(seeAgain, [task.robotId, task.keyHash, task.createdAt]);
      return { outcome: 'repeated', task: stored };
    },
  };
}
