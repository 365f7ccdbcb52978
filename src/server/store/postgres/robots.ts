// Authenticates robots, keeps their last readings, and deletes them with all their tasks.

import { FairQueue } from '../../../base/fair-queue.ts';
import type { RobotStore } from '../../ports/robots.ts';
import type { CompletionState, TaskRecord } from '../../ports/tasks.ts';
import type { SampleRecord } from '../../ports/telemetry.ts';
import { returnsReservation } from '../../rules/completions.ts';
import { recordAudit } from '../audit-log.ts';
import { releaseReservations } from '../ledger.ts';
import { newest } from '../rows/robots.ts';
import { lock } from '../steps.ts';
import { completionTopic } from '../tasks.ts';
import type { Queries } from './engine/connections.ts';
import type { Notifications } from './engine/notifications.ts';
import { type CountedRow, counting, oldWindows, toCounted } from './engine/rate-counters.ts';
import { sql } from './engine/sql.ts';
import { runSteps } from './engine/steps.ts';
import { freed, subtracting } from './engine/storage-usage.ts';
import type { Access } from './engine/transactions.ts';

const authenticate = sql(`WITH robot AS (SELECT id, wallet,
    coalesce(suspended_at, deleting_at) AS suspended_at
    FROM robots JOIN accounts USING (wallet) WHERE key_hash = $2),
  ${counting('robot', 'SELECT id::text AS key FROM robot')}
  SELECT robot.id, robot.wallet, robot.suspended_at, call.now, counted.used
  FROM robot CROSS JOIN call LEFT JOIN counted ON true`);
/** Tasks deleted per commit at most, so that deleting a long history does not delay other writes. */
const TASKS_PER_COMMIT = 100;

const endKey = sql(`UPDATE robots SET key_hash = NULL, key_hint = NULL, updated_at = $3
  WHERE id = $1 AND wallet = $2 RETURNING name`);
// Newest first, and claimed before verified: a queued task should go before it is signed, and it is rarely old.
const takeTasks = sql(`SELECT id, status FROM tasks WHERE id IN (
    SELECT id FROM tasks WHERE robot_id = $1 AND status = $2
    ORDER BY created_at DESC, id DESC LIMIT ${TASKS_PER_COMMIT})
  ORDER BY id FOR UPDATE`);
const takeQueued = sql(`SELECT task_id, state FROM completions
  WHERE task_id = ANY($1::uuid[]) AND state = 'queued' ORDER BY task_id FOR UPDATE`);
const forget = sql(`WITH forgotten_receipts AS (
    DELETE FROM receipts WHERE task_id = ANY($1::uuid[])
  ), forgotten_proofs AS (
    DELETE FROM proofs WHERE task_id = ANY($1::uuid[]) RETURNING ${freed.proofs}
  ), forgotten_completions AS (
    DELETE FROM completions WHERE task_id = ANY($1::uuid[])
  ), forgotten_tasks AS (
    DELETE FROM tasks WHERE id = ANY($1::uuid[]) RETURNING ${freed.tasks}
  ), counted AS (${subtracting('forgotten_proofs', 'forgotten_tasks')})
  INSERT INTO tombstones (task_id, deleted_at) SELECT id, $2 FROM unnest($1::uuid[]) AS id`);
const remove = sql('DELETE FROM robots WHERE id = $1');
// Receipts name the robot, and its samples go later: no other robot may get its id.
const bury = sql(`INSERT INTO robot_tombstones (robot_id, deleted_at) VALUES ($1, $2)
  ON CONFLICT DO NOTHING`);

type TakenTask = Pick<TaskRecord, 'id' | 'status'>;

/** New samples of a robot, received at `now`. */
interface Heard {
  robotId: string;
  samples: readonly SampleRecord[];
  now: number;
}

// If a reading is null, its time is null too. The comparison is then null, and the stored reading stays.
const show = sql(`UPDATE robots SET
    last_seen_at = greatest(last_seen_at, heard.at),
    battery_pct = CASE WHEN heard.battery_at >= coalesce(robots.battery_at, heard.battery_at)
      THEN heard.battery_pct ELSE robots.battery_pct END,
    battery_at = greatest(robots.battery_at, heard.battery_at),
    state = CASE WHEN heard.state_at >= coalesce(robots.state_at, heard.state_at)
      THEN heard.state ELSE robots.state END,
    state_at = greatest(robots.state_at, heard.state_at)
  FROM unnest($1::uuid[], $2::bigint[], $3::double precision[], $4::bigint[], $5::text[],
      $6::bigint[]) AS heard (robot_id, at, battery_pct, battery_at, state, state_at)
  WHERE robots.id = heard.robot_id`);

export function robotAuthentication(access: Access): Pick<RobotStore, 'authenticateRobot'> {
  const noteWindow = oldWindows(access);

  return {
    async authenticateRobot(keyHash) {
      const row = await access.first<
        CountedRow & { id: string; wallet: string; suspended_at: number | null }
      >(authenticate, [access.instant(), keyHash]);
      if (row === undefined) return null;
      noteWindow(row);
      const { id, wallet, suspended_at } = row;
      const robot = { id, wallet, isSuspended: suspended_at !== null };
      return { robot, count: toCounted('robot', row) };
    },
  };
}

/** Deletes a robot and its tasks. Their leaves and ledger entries stay; they refer to the tasks by id. */
export function robotDeletion(
  access: Access,
  notifications: Notifications,
): Pick<RobotStore, 'deleteRobot'> {
  // One commit at a time among all deletions, so that they leave connections to other writes.
  const queue = new FairQueue({ atOnce: 1 });

  async function forgetAll(id: string, wallet: string, now: number): Promise<void> {
    for (let more = true; more; ) {
      const forgotten = await queue.run(wallet, () =>
        access.write((tx) => deleteSome(tx, { id, wallet }, now)),
      );
      notifications.tell(forgotten.map(completionTopic));
      more = forgotten.length > 0;
    }
  }

  return {
    async deleteRobot(id, wallet, now, by) {
      // The key ends now, however many deletions are queued before this one.
      const isFound = await access.write(async (tx) => {
        const robot = await tx.first<{ name: string }>(endKey, [id, wallet, now]);
        if (robot === undefined) return false;
        await runSteps(
          tx,
          recordAudit(wallet, 'robot_deleted', by, { target_id: id, detail: robot.name }),
        );
        return true;
      });
      if (!isFound) return false;
      await forgetAll(id, wallet, now);
      return true;
    },
  };
}

/**
 * Updates the last-seen time, battery and state of robots from new samples (`TelemetryStore.recordSamples`). Call it
 * inside a write that has locked the robots, with each robot once.
 */
export async function showNewest(tx: Queries, robots: readonly Heard[]): Promise<void> {
  const batteries = robots.map(({ samples, now }) =>
    newest(samples, now, ({ batteryPct }) => batteryPct),
  );
  const states = robots.map(({ samples, now }) => newest(samples, now, ({ state }) => state));
  await tx.run(show, [
    robots.map(({ robotId }) => robotId),
    robots.map(({ now }) => now),
    batteries.map((battery) => battery?.value ?? null),
    batteries.map((battery) => battery?.at ?? null),
    states.map((state) => state?.value ?? null),
    states.map((state) => state?.at ?? null),
  ]);
}

/** Deletes up to `TASKS_PER_COMMIT` tasks and returns their ids. If no task is left, deletes the robot. */
async function deleteSome(
  tx: Queries,
  { id, wallet }: { id: string; wallet: string },
  now: number,
): Promise<string[]> {
  await runSteps(tx, lock(wallet));
  // Again in each commit: the robot may have got a new key. Without a key it gets no new task.
  if ((await tx.run(endKey, [id, wallet, now])) === 0) return [];
  const claimed = await tx.rows<TakenTask>(takeTasks, [id, 'claimed']);
  const tasks =
    claimed.length > 0 ? claimed : await tx.rows<TakenTask>(takeTasks, [id, 'verified']);
  if (tasks.length === 0) {
    await tx.run(remove, [id]);
    await tx.run(bury, [id, now]);
    return [];
  }
  const ids = tasks.map((task) => task.id);
  const queued = await tx.rows<{ task_id: string; state: CompletionState }>(takeQueued, [ids]);
  const statusOf = new Map(tasks.map(({ id: taskId, status }) => [taskId, status]));
  const returned = queued.filter(({ task_id: taskId, state }) =>
    returnsReservation({ status: statusOf.get(taskId) ?? 'verified', state }),
  );
  const released = returned.map(({ task_id }) => task_id);
  await runSteps(tx, releaseReservations(released, now));
  await tx.run(forget, [ids, now]);
  return ids;
}
