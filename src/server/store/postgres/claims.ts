// Stores claims of tasks, each in one statement.

import type { TaskStore } from '../../ports/tasks.ts';
import { rowBytes } from '../../rules/storage.ts';
import { sql } from '../db/sql.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { claimedTask, findTask, isSameClaim } from '../tasks.ts';
import type { PostgresDb } from './engine/database.ts';

export function claimStore({ alone }: PostgresDb, usage: StorageUsage) {
  return {
    async createTask(task) {
      const { id, robotId, keyHash, title, description, expectedResult, createdAt } = task;
      const mostSigns = task.isSigned ? 1 : 0;
      // No row if the robot or its key is gone. If the task was deleted while this statement waited for its id, the schema
      // refuses the insert and the statement is retried.
      const claimed = await alone((tx) =>
        tx.get<{ wallet: string; signs: 0 | 1; created: boolean }>(sql`WITH robot AS (
            SELECT id, wallet, signs FROM robots WHERE id = ${robotId} AND key_hash = ${keyHash} FOR UPDATE
          ), created AS (
            INSERT INTO tasks (id, robot_id, wallet, title, description, expected_result, occurred_at,
              created_at)
            SELECT ${id}::uuid, id, wallet, ${title}::text, ${description}::text,
              ${expectedResult}::text, ${task.occurredAt}::text, ${createdAt}::bigint FROM robot
            WHERE signs <= ${mostSigns} AND NOT EXISTS (SELECT FROM tombstones WHERE task_id = ${id})
            ON CONFLICT (id) DO NOTHING
            RETURNING robot_id
          ), seen AS (
            UPDATE robots SET last_seen_at = ${createdAt} WHERE id IN (SELECT robot_id FROM created)
              AND (last_seen_at IS NULL OR last_seen_at < ${createdAt})
          )
          SELECT wallet, signs, EXISTS (SELECT FROM created) AS created FROM robot`),
      );
      if (claimed === undefined) return { outcome: 'key_revoked' };
      if (claimed.signs > mostSigns) return { outcome: 'statement_required' };
      if (claimed.created) {
        usage.add(claimed.wallet, rowBytes(title, description, expectedResult));
        return { outcome: 'created', task: claimedTask(task, claimed.wallet) };
      }
      const stored = await alone((tx) => findTask(tx, id));
      if (stored === null || !isSameClaim(stored, task)) return { outcome: 'id_conflict' };
      // An id made by the server exists only if the connection was lost after the commit of the first try.
      if (!task.idGiven) return { outcome: 'created', task: stored };
      await alone((tx) =>
        tx.run(sql`UPDATE robots SET last_seen_at = ${createdAt} WHERE id = ${robotId}
          AND key_hash = ${keyHash} AND (last_seen_at IS NULL OR last_seen_at < ${createdAt})`),
      );
      return { outcome: 'repeated', task: stored };
    },
  } satisfies Partial<TaskStore>;
}
