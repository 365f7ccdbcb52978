// Stores robots: creation, keys, fleet membership, and deletion with their tasks.
import { isDeepStrictEqual } from 'node:util';
import { FairQueue } from '../../base/async/fair-queue.ts';
import type { Hex } from '../../proof/bytes.ts';
import { limits } from '../../protocol/limits.ts';
import type { RobotRecord, RobotStore } from '../ports/robots.ts';
import type { TaskRecord } from '../ports/tasks.ts';
import { dropFreeLeaves } from './anchoring/free-leaves.ts';
import { completionTopic } from './anchoring/waits.ts';
import { recordAudit, recordNamed } from './audit-log.ts';
import { type Db, type DeletionLimits, deleteInCommit, type Tx } from './db/database.ts';
import {
  among,
  each,
  forUpdate,
  jsonObject,
  lockAccount,
  newestBelow,
  onPostgres,
  selected,
} from './db/dialect.ts';
import { insertNew, NO_ID } from './db/rows.ts';
import { raw, sql } from './db/sql.ts';
import { findFleet } from './fleets.ts';
import type { CountedIn } from './stats.ts';
import { bytesIn, type Freed, subtractUsage } from './storage-usage.ts';

/** The newest event of severity `error`. */
const LAST_ERROR = sql`SELECT ${jsonObject({
  event_id: 'id',
  event_type: 'event_type',
  message: 'substr(message, 1, 200)',
  occurred_at: 'occurred_at',
  created_at: 'created_at',
})} FROM events
  WHERE ${newestBelow(['robot_id', 'severity'], [raw('robots.id'), 'error'], Number.MAX_SAFE_INTEGER)}
  LIMIT 1`;

/** The newest claimed task, unless it has a completion. */
const CURRENT_TASK = sql`SELECT CASE WHEN NOT EXISTS
    (SELECT 1 FROM completions WHERE task_id = current_task.id)
  THEN ${jsonObject({ id: 'id', title: 'title', created_at: 'created_at' })} END
  FROM (SELECT id, title, created_at FROM tasks WHERE robot_id = robots.id AND status = 'claimed'
    ORDER BY created_at DESC, id DESC LIMIT 1) AS current_task`;

const COLUMNS = sql`id, wallet, name, description, fleet_id AS "fleetId", key_hint AS "keyHint",
  created_at AS "createdAt", updated_at AS "updatedAt", last_seen_at AS "lastSeenAt",
  battery_pct AS "batteryPct", state, state_since AS "stateSince", state_at AS "stateAt",
  CASE WHEN battery_pct < ${raw(String(limits.lowBatteryPct))} THEN battery_since END AS "batteryLowSince",
  clock_behind AS "clockBehind", (${LAST_ERROR}) AS "lastError", (${CURRENT_TASK}) AS "currentTask"`;

export function robotStore({ all, read, write }: Db) {
  return {
    createRobot: ({ id, wallet, name, description, keyHash, createdAt }, by) =>
      write(async (tx) => {
        await lockAccount(tx, wallet);
        const known = await find(tx, id, wallet);
        if (known !== null) return { outcome: 'id_used', robot: known };
        const all = await listIds(tx, wallet);
        if (all.length >= limits.robotsPerAccount) return { outcome: 'robot_limit_reached' };
        const deletedBefore = sql`SELECT robot_id FROM robot_tombstones WHERE robot_id = ${id}`;
        if ((await tx.get(deletedBefore)) !== null) return { outcome: 'id_used', robot: null };
        const times = { created_at: createdAt, updated_at: createdAt };
        const key = { key_hash: keyHash, key_hint: keyHint(keyHash) };
        await insertNew(tx, 'robots', [{ id, wallet, name, description, ...key, ...times }]);
        const robot = await find(tx, id, wallet);
        if (robot === null) return { outcome: 'id_used', robot };
        await recordNamed(tx, 'robot_created', robot, by);
        return { outcome: 'created', robot };
      }),

    getRobot: (id, wallet) => read((tx) => find(tx, id, wallet)),

    listRobots: (wallet, limit, after) =>
      all<RobotRecord>(sql`SELECT ${COLUMNS} FROM robots
        WHERE wallet = ${wallet} AND id > ${after ?? NO_ID} ORDER BY id LIMIT ${limit}`),

    patchRobot: (id, wallet, patch, now, by) =>
      write(async (tx) => {
        await lockAccount(tx, wallet);
        const before = await find(tx, id, wallet);
        if (before === null) return { outcome: 'robot_not_found' };
        const { name, description, fleetId } = { ...before, ...patch };
        if (!(await hasFleet(tx, fleetId, wallet))) return { outcome: 'fleet_not_found' };
        const robot = await tx.get<RobotRecord>(sql`UPDATE robots
          SET name = ${name}, description = ${description}, fleet_id = ${fleetId}, updated_at = ${now}
          WHERE id = ${id} RETURNING ${COLUMNS}`);
        if (robot === null) return { outcome: 'robot_not_found' };
        if (!isDeepStrictEqual({ ...robot, updatedAt: before.updatedAt }, before)) {
          await recordNamed(tx, 'robot_changed', robot, by);
        }
        return { outcome: 'patched', robot };
      }),

    assignRobots: (wallet, ids, fleetId, now, by) =>
      write(async (tx) => {
        await lockAccount(tx, wallet);
        if (!(await hasFleet(tx, fleetId, wallet))) return { outcome: 'fleet_not_found' };
        const all = await listIds(tx, wallet);
        const known = new Map(all.map((robot) => [robot.id, robot.fleetId]));
        if (!ids.every((id) => known.has(id))) return { outcome: 'robot_not_found' };
        const updated = new Map<string, RobotRecord>();
        // In the order of ids, as every write locks robots, so that no two of them wait for each other.
        for (const id of [...ids].sort()) {
          const robot = await tx.get<RobotRecord>(sql`UPDATE robots
            SET fleet_id = ${fleetId}, updated_at = ${now} WHERE id = ${id} RETURNING ${COLUMNS}`);
          if (robot !== null) updated.set(id, robot);
        }
        const count = ids.filter((id) => known.get(id) !== fleetId).length;
        // One entry, however many robots, so that repeated moves do not fill the disk.
        if (count > 0) {
          const target = { target_id: fleetId, detail: String(count) };
          await recordAudit(tx, wallet, 'robots_moved', by, target);
        }
        return { outcome: 'assigned', robots: ids.flatMap((id) => updated.get(id) ?? []) };
      }),

    replaceKey: (id, wallet, keyHash, now, by) =>
      write(async (tx) => {
        const hint = keyHash === null ? null : keyHint(keyHash);
        const robot = await tx.get<RobotRecord>(sql`UPDATE robots
          SET key_hash = ${keyHash}, key_hint = ${hint}, updated_at = ${now}
          WHERE id = ${id} AND wallet = ${wallet} RETURNING ${COLUMNS}`);
        if (robot === null) return null;
        const kind = keyHash === null ? 'key_revoked' : 'key_rotated';
        await recordNamed(tx, kind, robot, by);
        return robot;
      }),
  } satisfies Partial<RobotStore>;
}

/** Finds a robot by id if it belongs to the account. */
async function find(tx: Tx, id: string, wallet: string): Promise<RobotRecord | null> {
  return tx.get<RobotRecord>(
    sql`SELECT ${COLUMNS} FROM robots WHERE id = ${id} AND wallet = ${wallet}`,
  );
}

export async function ownsRobot(tx: Tx, wallet: string, id: string): Promise<boolean> {
  return (await find(tx, id, wallet)) !== null;
}

/** Locks the robot of a call. Null if its key was revoked after the call was authenticated. */
export function lockRobot(tx: Tx, id: string, keyHash: string) {
  return tx.get<CountedIn & { signs: 0 | 1 }>(sql`SELECT wallet, fleet_id, signs FROM robots
    WHERE id = ${id} AND key_hash = ${keyHash} ${forUpdate}`);
}

export async function markSeen(tx: Tx, id: string, at: number): Promise<void> {
  await tx.run(sql`UPDATE robots SET last_seen_at = ${at}
    WHERE id = ${id} AND (last_seen_at IS NULL OR last_seen_at < ${at})`);
}

function listIds(tx: Tx, wallet: string) {
  return tx.all<Pick<RobotRecord, 'id' | 'fleetId'>>(
    sql`SELECT id, fleet_id AS "fleetId" FROM robots WHERE wallet = ${wallet}`,
  );
}

async function hasFleet(tx: Tx, fleetId: string | null, wallet: string): Promise<boolean> {
  return fleetId === null || (await findFleet(tx, fleetId, wallet)) !== null;
}

/** The first 8 hex digits of the key's SHA-256. */
function keyHint(keyHash: string): string {
  return keyHash.replace(/^0x/, '').slice(0, 8);
}

/** Tasks deleted per commit at most, so that deleting a long history does not delay other writes. */
const TASKS_PER_COMMIT = 100;

interface Robot {
  id: string;
  wallet: string;
}

type LockedTask = Pick<TaskRecord, 'id' | 'wallet'> & { bytes: number };

/** Deletes a robot and its tasks. Their leaves and ledger entries stay; they refer to the tasks by id. */
export function robotDeletion(db: Db): Pick<RobotStore, 'deleteRobot'> {
  const { write, wake, purgeLog } = db;
  // One robot per account at a time, and one commit at a time among all deletions: other writes and other accounts
  // get their commits in between, however many robots are being deleted.
  const perAccount = new FairQueue({ ofOneAtOnce: 1, atOnce: Number.POSITIVE_INFINITY });
  const oneCommit = new FairQueue({ atOnce: 1 });

  async function forgetAll(robot: Robot, now: number): Promise<void> {
    for (let more = true; more; ) {
      const step = await oneCommit.run(robot.wallet, () =>
        write((tx) => deleteSome(tx, db.deletions, robot, now)),
      );
      wake(step.forgotten.map(completionTopic));
      more = step.more;
    }
  }

  return {
    async deleteRobot(id, wallet, now, by) {
      // The key ends now, however many deletions are queued before this one.
      const isFound = await write(async (tx) => {
        const robot = await revokeKey(tx, { id, wallet }, now);
        if (robot === null) return false;
        const target = { target_id: id, detail: robot.name };
        await recordAudit(tx, wallet, 'robot_deleted', by, target);
        return true;
      });
      if (!isFound) return false;
      // Purge even if the deletion fails halfway. Other deletions of the account need not wait for the purge.
      await perAccount.run(wallet, () => forgetAll({ id, wallet }, now)).finally(purgeLog);
      return true;
    },
  };
}

function revokeKey(tx: Tx, { id, wallet }: Robot, now: number) {
  return tx.get<{ name: string }>(sql`UPDATE robots
    SET key_hash = NULL, key_hint = NULL, updated_at = ${now}
    WHERE id = ${id} AND wallet = ${wallet} RETURNING name`);
}

/** Deletes up to `TASKS_PER_COMMIT` tasks, then statements and keys, and the robot if nothing of it is left. */
async function deleteSome(tx: Tx, deletions: DeletionLimits, robot: Robot, now: number) {
  const forgotten: string[] = [];
  await lockAccount(tx, robot.wallet);
  // Again in each commit: the robot may have got a new key, and with it tasks. Without a key it gets no new task.
  if ((await revokeKey(tx, robot, now)) === null) return { forgotten, more: false };
  let { more } = await deleteInCommit(deletions, TASKS_PER_COMMIT, async (most) => {
    const tasks = await lockTasks(tx, robot.id, most);
    await forget(tx, robot, tasks, now);
    forgotten.push(...tasks.map((task) => task.id));
    return tasks.length;
  });
  if (!more) more = await forgetStatements(tx, deletions, robot);
  if (!more) {
    await tx.run(sql`DELETE FROM robots WHERE id = ${robot.id}`);
    // Receipts name the robot, and its samples go later: no other robot may get its id.
    await tx.run(sql`INSERT INTO robot_tombstones (robot_id, deleted_at)
      VALUES (${robot.id}, ${now}) ON CONFLICT DO NOTHING`);
  }
  return { forgotten, more };
}

function lockTasks(tx: Tx, robotId: string, most: number) {
  const some = sql`SELECT id FROM tasks WHERE robot_id = ${robotId} LIMIT ${most}`;
  return tx.all<LockedTask>(sql`SELECT id, wallet, ${raw(bytesIn('tasks', 'tasks'))} AS bytes
    FROM tasks WHERE id ${selected(some)} ORDER BY id ${forUpdate}`);
}

async function forget(
  tx: Tx,
  { id: robotId, wallet }: Robot,
  tasks: readonly LockedTask[],
  now: number,
): Promise<void> {
  if (tasks.length === 0) return;
  const ids = tasks.map(({ id }) => id);
  const ofTasks = sql`task_id ${among('uuid', ids)}`;
  await tx.run(sql`DELETE FROM receipts WHERE ${ofTasks}`);
  const proofs = await tx.all<{ bytes: number }>(sql`DELETE FROM proofs WHERE ${ofTasks}
    RETURNING ${raw(bytesIn('proofs', 'proofs'))} AS bytes`);
  // The service promised to anchor what it accepted, so the leaf of a queued proof stays.
  await tx.run(
    onPostgres(sql`SELECT task_id FROM completions WHERE ${ofTasks}
    ORDER BY task_id FOR UPDATE`),
  );
  await tx.run(sql`DELETE FROM completions WHERE ${ofTasks} AND state <> 'queued'`);
  await tx.run(sql`UPDATE completions
    SET proof_hash = leaf, claim_hash = leaf, statement_hash = NULL, outcome = NULL
    WHERE ${ofTasks}`);
  await tx.run(sql`DELETE FROM tasks WHERE id ${among('uuid', ids)}`);
  // Number and hashes stay: the statement counts as withheld, not as missing.
  const texts = await tx.all<{ bytes: number; statement_hash: Hex }>(sql`
    SELECT octet_length(statement) AS bytes, statement_hash
    FROM statements WHERE ${ofTasks} AND robot_id = ${robotId}`);
  await dropFreeLeaves(
    tx,
    texts.map(({ statement_hash }) => statement_hash),
  );
  await tx.run(sql`UPDATE statements SET statement = NULL, task_id = NULL
    WHERE ${ofTasks} AND robot_id = ${robotId}`);
  const freed: Freed[] = [...proofs, ...texts].map(({ bytes }) => ({ wallet, bytes }));
  await subtractUsage(tx, [...freed, ...tasks]);
  await tx.run(sql`INSERT INTO tombstones (task_id, deleted_at)
    SELECT value, ${now} FROM (${each('uuid', ids)}) AS ids`);
}

/** Deletes up to `TASKS_PER_COMMIT` statements, or a key without any. Returns whether there may be more. */
async function forgetStatements(tx: Tx, deletions: DeletionLimits, { id, wallet }: Robot) {
  const { more } = await deleteInCommit(deletions, TASKS_PER_COMMIT, async (most) => {
    const key = await tx.get<{ kid: string }>(
      sql`SELECT kid FROM robot_keys WHERE robot_id = ${id} ORDER BY place DESC LIMIT 1`,
    );
    if (key === null) return 0;
    const first = sql`SELECT number FROM statements WHERE kid = ${key.kid} ORDER BY number LIMIT ${most}`;
    const statements = await tx.all<{ bytes: number }>(sql`DELETE FROM statements
      WHERE kid = ${key.kid} AND number ${selected(first)}
      RETURNING ${raw(bytesIn('statements', 'statements'))} AS bytes`);
    const keys = await tx.all<{ bytes: number }>(sql`DELETE FROM robot_keys
      WHERE kid = ${key.kid} AND NOT EXISTS (SELECT 1 FROM statements WHERE kid = ${key.kid})
      RETURNING ${raw(bytesIn('robot_keys', 'robot_keys'))} AS bytes`);
    const freed = [...statements, ...keys].map(({ bytes }) => ({ wallet, bytes }));
    await subtractUsage(tx, freed);
    return freed.length;
  });
  return more;
}
