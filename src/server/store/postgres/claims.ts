// Stores claims of tasks, those of concurrent requests in one statement.

import { batching } from '../../../base/async/batching.ts';
import type { NewTask, TaskStore } from '../../ports/tasks.ts';
import { rowBytes } from '../../rules/storage.ts';
import { sql } from '../db/sql.ts';
import type { Tx } from '../db/tx.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { claimedTask, findTask, isSameClaim } from '../tasks.ts';
import type { PostgresDb } from './engine/database.ts';

/** While the database writes one group, this process prepares the next. */
const GROUPS_AT_ONCE = 2;
const CLAIMS_AT_ONCE = 256;

type Claimed = Awaited<ReturnType<TaskStore['createTask']>>;

export function claimStore({ alone }: PostgresDb, usage: StorageUsage) {
  const createdTogether = batching({
    atOnce: GROUPS_AT_ONCE,
    keyOf: ({ robotId }: NewTask) => robotId,
    startGroup: claimGroup,
    async doTogether(tasks) {
      const created = await alone((tx) => createTogether(tx, tasks));
      const walletOf = new Map(created.map(({ id, wallet }) => [id, wallet]));
      return ({ id }: NewTask) => walletOf.get(id);
    },
  });

  function created(task: NewTask, wallet: string): Claimed {
    const { title, description, expectedResult } = task;
    usage.add(wallet, rowBytes(title, description, expectedResult));
    return { outcome: 'created', task: claimedTask(task, wallet) };
  }

  return {
    async createTask(task) {
      const wallet = await createdTogether(task);
      if (wallet !== undefined) return created(task, wallet);
      const { id, robotId, keyHash, createdAt } = task;
      // Alone it waits for locks, so that it finds out why the task was not created, or creates it.
      const claimed = await alone((tx) => createAlone(tx, task));
      if (claimed === undefined) return { outcome: 'key_revoked' };
      if (claimed.signs > mostSigns(task)) return { outcome: 'statement_required' };
      if (claimed.created) return created(task, claimed.wallet);
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

function mostSigns({ isSigned }: NewTask): 0 | 1 {
  return isSigned ? 1 : 0;
}

function claimGroup(): (task: NewTask) => boolean {
  const ids = new Set<string>();
  return ({ id }) => ids.size < CLAIMS_AT_ONCE && !ids.has(id) && ids.add(id).size > 0;
}

/**
 * Creates those tasks for which nothing else has to be read or waited for, and returns them. It skips robots that others
 * have locked, so that no claim delays its neighbors. If a task was deleted while this statement waited for its id,
 * the schema refuses the insert and the statement is retried.
 */
function createTogether(tx: Tx, tasks: readonly NewTask[]) {
  return tx.all<{ id: string; wallet: string }>(sql`WITH given AS (
      SELECT * FROM unnest(${tasks.map(({ id }) => id)}::uuid[],
        ${tasks.map(({ robotId }) => robotId)}::uuid[], ${tasks.map(({ keyHash }) => keyHash)}::text[],
        ${tasks.map(mostSigns)}::integer[], ${tasks.map(({ title }) => title)}::text[],
        ${tasks.map(({ description }) => description)}::text[],
        ${tasks.map(({ expectedResult }) => expectedResult)}::text[],
        ${tasks.map(({ occurredAt }) => occurredAt)}::text[],
        ${tasks.map(({ createdAt }) => createdAt)}::bigint[])
        AS given (id, robot_id, key_hash, most_signs, title, description, expected_result,
          occurred_at, created_at)
    ), robot AS (
      SELECT id, wallet, key_hash, signs FROM robots
      WHERE id = ANY(ARRAY(SELECT robot_id FROM given)) FOR UPDATE SKIP LOCKED
    ), created AS (
      INSERT INTO tasks (id, robot_id, wallet, title, description, expected_result, occurred_at,
        created_at)
      SELECT given.id, robot_id, wallet, title, description, expected_result, occurred_at, created_at
      FROM given JOIN robot ON robot.id = robot_id AND robot.key_hash = given.key_hash
      WHERE signs <= most_signs AND NOT EXISTS (SELECT FROM tombstones WHERE task_id = given.id)
      ORDER BY given.id
      ON CONFLICT (id) DO NOTHING
      RETURNING id, robot_id, wallet, created_at
    ), seen AS (
      UPDATE robots SET last_seen_at = newest.at
      FROM (SELECT robot_id, max(created_at) AS at FROM created GROUP BY robot_id) AS newest
      WHERE id = robot_id AND (last_seen_at IS NULL OR last_seen_at < newest.at)
    )
    SELECT id, wallet FROM created`);
}

/** Creates a task. No row if the robot or its key is gone. */
function createAlone(tx: Tx, task: NewTask) {
  const { id, robotId, createdAt } = task;
  return tx.get<{ wallet: string; signs: 0 | 1; created: boolean }>(sql`WITH robot AS (
      SELECT id, wallet, signs FROM robots WHERE id = ${robotId} AND key_hash = ${task.keyHash} FOR UPDATE
    ), created AS (
      INSERT INTO tasks (id, robot_id, wallet, title, description, expected_result, occurred_at,
        created_at)
      SELECT ${id}::uuid, id, wallet, ${task.title}::text, ${task.description}::text,
        ${task.expectedResult}::text, ${task.occurredAt}::text, ${createdAt}::bigint FROM robot
      WHERE signs <= ${mostSigns(task)} AND NOT EXISTS (SELECT FROM tombstones WHERE task_id = ${id})
      ON CONFLICT (id) DO NOTHING
      RETURNING robot_id
    ), seen AS (
      UPDATE robots SET last_seen_at = ${createdAt} WHERE id IN (SELECT robot_id FROM created)
        AND (last_seen_at IS NULL OR last_seen_at < ${createdAt})
    )
    SELECT wallet, signs, EXISTS (SELECT FROM created) AS created FROM robot`);
}
