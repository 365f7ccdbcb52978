// Stores claims of tasks, those of concurrent requests in one statement.

import { batching } from '../../../base/async/batching.ts';
import type { NewTask, TaskStore } from '../../ports/tasks.ts';
import { rowBytes } from '../../rules/storage.ts';
import type { Tx } from '../db/database.ts';
import { raw, type Sql, sql } from '../db/sql.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { claimedTask, findTask, isSameClaim } from '../tasks.ts';
import type { PostgresDb } from './engine/database.ts';
import { unlessContended } from './engine/errors.ts';

/** While the database writes one group, this process prepares the next. */
const GROUPS_AT_ONCE = 2;
const CLAIMS_AT_ONCE = 256;

type Outcome = Awaited<ReturnType<TaskStore['createTask']>>;

export function claimStore({ alone }: PostgresDb, usage: StorageUsage) {
  const createTogether = batching({
    atOnce: GROUPS_AT_ONCE,
    keyOf: ({ robotId }: NewTask) => robotId,
    startGroup: claimGroup,
    async doTogether(tasks) {
      const claimed = await claim(alone, tasks, raw('SKIP LOCKED')).catch(unlessContended);
      const walletOf = new Map(claimed.map(({ id, wallet, created }) => [id, created && wallet]));
      return ({ id }: NewTask) => walletOf.get(id) || null;
    },
  });

  function created(task: NewTask, wallet: string): Outcome {
    const { title, description, expectedResult } = task;
    usage.add(wallet, rowBytes(title, description, expectedResult));
    return { outcome: 'created', task: claimedTask(task, wallet) };
  }

  return {
    async createTask(task) {
      const wallet = await createTogether(task);
      if (wallet !== null) return created(task, wallet);
      const { id, robotId, keyHash, createdAt } = task;
      // Outside a group, the claim waits for the lock of its robot.
      const [claimed] = await claim(alone, [task], sql``);
      if (claimed === undefined) return { outcome: 'key_revoked' };
      if (claimed.signs > mostSigns(task)) return { outcome: 'statement_required' };
      if (claimed.created) return created(task, claimed.wallet);
      const stored = await findTask(alone, id);
      if (stored === null || !isSameClaim(stored, task)) return { outcome: 'id_conflict' };
      // An id made by the server exists only if the connection was lost after the commit of the first try.
      if (!task.idGiven) return { outcome: 'created', task: stored };
      await alone.run(sql`UPDATE robots SET last_seen_at = ${createdAt} WHERE id = ${robotId}
        AND key_hash = ${keyHash} AND (last_seen_at IS NULL OR last_seen_at < ${createdAt})`);
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

interface ClaimRow {
  id: string;
  wallet: string;
  signs: 0 | 1;
  created: boolean;
}

/**
 * Creates the tasks that need no other answer. No row for a task whose robot or key is gone. `lock`: how to lock robots.
 * If a task was deleted while this statement waited for its id, the schema refuses the insert and the statement is
 * retried.
 */
async function claim(tx: Tx, tasks: readonly NewTask[], lock: Sql): Promise<ClaimRow[]> {
  return tx.all<ClaimRow>(sql`WITH given AS (
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
      SELECT id AS robot_id, wallet, key_hash, signs FROM robots
      WHERE id = ANY(ARRAY(SELECT robot_id FROM given)) FOR UPDATE ${lock}
    ), created AS (
      INSERT INTO tasks (id, robot_id, wallet, title, description, expected_result, occurred_at,
        created_at)
      SELECT id, robot_id, wallet, title, description, expected_result, occurred_at, created_at
      FROM given JOIN robot USING (robot_id, key_hash)
      WHERE signs <= most_signs AND NOT EXISTS (SELECT FROM tombstones WHERE task_id = given.id)
      ORDER BY id
      ON CONFLICT (id) DO NOTHING
      RETURNING id, robot_id, created_at
    ), seen AS (
      UPDATE robots SET last_seen_at = newest.at
      FROM (SELECT robot_id, max(created_at) AS at FROM created GROUP BY robot_id) AS newest
      WHERE id = robot_id AND (last_seen_at IS NULL OR last_seen_at < newest.at)
    )
    SELECT id, wallet, signs, id IN (SELECT id FROM created) AS created
    FROM given JOIN robot USING (robot_id, key_hash)`);
}
