// Stores robots: creation, keys, fleet membership, and deletion with their tasks.
import { isDeepStrictEqual } from 'node:util';
import { FairQueue } from '../../base/fair-queue.ts';
import { limits } from '../../protocol/limits.ts';
import type { RobotRecord, RobotStore } from '../ports/robots.ts';
import type { CompletionState, TaskRecord } from '../ports/tasks.ts';
import { returnsReservation } from '../rules/completions.ts';
import { releaseReservations } from './account.ts';
import { recordAudit, recordNamed } from './audit-log.ts';
import {
  among,
  deleteInCommit,
  first,
  insert,
  lock,
  NO_ID,
  rows,
  type StepRunner,
  type Steps,
  selected,
  some,
} from './engine/steps.ts';
import { findFleet } from './fleets.ts';
import { bytesIn, freeing } from './storage-usage.ts';
import { completionTopic } from './tasks.ts';

const COLUMNS = `id, wallet, name, description, fleet_id AS "fleetId", key_hint AS "keyHint",
  created_at AS "createdAt", updated_at AS "updatedAt", last_seen_at AS "lastSeenAt",
  battery_pct AS "batteryPct", state, state_since AS "stateSince",
  CASE WHEN battery_pct < ${limits.lowBatteryPct} THEN battery_since END AS "batteryLowSince"`;

export const robotSql = {
  find: `SELECT ${COLUMNS} FROM robots WHERE id = $1 AND wallet = $2`,
  page: `SELECT ${COLUMNS} FROM robots WHERE wallet = $1 AND id > $2 ORDER BY id LIMIT $3`,
  all: 'SELECT id, fleet_id AS "fleetId" FROM robots WHERE wallet = $1',
  isBuried: 'SELECT robot_id FROM robot_tombstones WHERE robot_id = $1',
  update: `UPDATE robots SET name = $2, description = $3, fleet_id = $4, updated_at = $5
    WHERE id = $1 RETURNING ${COLUMNS}`,
  assign: `UPDATE robots SET fleet_id = $2, updated_at = $3 WHERE id = $1 RETURNING ${COLUMNS}`,
  setKey: `UPDATE robots SET key_hash = $3, key_hint = $4, updated_at = $5
    WHERE id = $1 AND wallet = $2 RETURNING ${COLUMNS}`,
} as const;

type Changes = Omit<RobotStore, 'authenticateRobot' | 'deleteRobot'>;

export function robotStore({ read, write }: StepRunner): Changes {
  return {
    createRobot: ({ id, wallet, name, description, keyHash, createdAt }, by) =>
      write(function* () {
        yield* lock(wallet);
        const known = yield* find(id, wallet);
        if (known !== null) return { outcome: 'id_used', robot: known };
        const all = yield* rows(robotSql.all, wallet);
        if (all.length >= limits.robotsPerAccount) return { outcome: 'robot_limit_reached' };
        if (yield* some(robotSql.isBuried, id)) return { outcome: 'id_used', robot: null };
        const times = { created_at: createdAt, updated_at: createdAt };
        const key = { key_hash: keyHash, key_hint: keyHint(keyHash) };
        yield* insert('robots', [{ id, wallet, name, description, ...key, ...times }]);
        const robot = yield* find(id, wallet);
        if (robot === null) return { outcome: 'id_used', robot };
        yield* recordNamed('robot_created', robot, by);
        return { outcome: 'created', robot };
      }),

    getRobot: (id, wallet) => read(() => find(id, wallet)),

    listRobots: (wallet, limit, after) =>
      read(() => rows<RobotRecord>(robotSql.page, wallet, after ?? NO_ID, limit)),

    patchRobot: (id, wallet, patch, now, by) =>
      write(function* () {
        yield* lock(wallet);
        const before = yield* find(id, wallet);
        if (before === null) return { outcome: 'robot_not_found' };
        if (!(yield* hasFleet(patch.fleetId ?? null, wallet)))
          return { outcome: 'fleet_not_found' };
        const { name, description, fleetId } = { ...before, ...patch };
        const values = [name, description, fleetId, now];
        const robot = yield* first<RobotRecord>(robotSql.update, id, ...values);
        if (robot === undefined) return { outcome: 'robot_not_found' };
        if (!isDeepStrictEqual({ ...robot, updatedAt: before.updatedAt }, before)) {
          yield* recordNamed('robot_changed', robot, by);
        }
        return { outcome: 'patched', robot };
      }),

    assignRobots: (wallet, ids, fleetId, now, by) =>
      write(function* () {
        yield* lock(wallet);
        if (!(yield* hasFleet(fleetId, wallet))) return { outcome: 'fleet_not_found' };
        const all = yield* rows<Pick<RobotRecord, 'id' | 'fleetId'>>(robotSql.all, wallet);
        const known = new Map(all.map((robot) => [robot.id, robot.fleetId]));
        if (!ids.every((id) => known.has(id))) return { outcome: 'robot_not_found' };
        const moved = new Map<string, RobotRecord>();
        // By id, as other writes lock robots.
        for (const id of [...ids].sort()) {
          const robot = yield* first<RobotRecord>(robotSql.assign, id, fleetId, now);
          if (robot !== undefined) moved.set(id, robot);
        }
        const count = ids.filter((id) => known.get(id) !== fleetId).length;
        // One entry, however many robots: strangers must not fill the disk with them.
        if (count > 0) {
          yield* recordAudit(wallet, 'robots_moved', by, {
            target_id: fleetId,
            detail: String(count),
          });
        }
        return { outcome: 'assigned', robots: ids.flatMap((id) => moved.get(id) ?? []) };
      }),

    replaceKey: (id, wallet, keyHash, now, by) =>
      write(function* () {
        const key = [keyHash, keyHash === null ? null : keyHint(keyHash)];
        const robot = yield* first<RobotRecord>(robotSql.setKey, id, wallet, ...key, now);
        if (robot === undefined) return null;
        yield* recordNamed(keyHash === null ? 'key_revoked' : 'key_rotated', robot, by);
        return robot;
      }),
  };
}

/** Finds a robot by id if it belongs to the account. */
function* find(id: string, wallet: string): Steps<RobotRecord | null> {
  return (yield* first<RobotRecord>(robotSql.find, id, wallet)) ?? null;
}

function* hasFleet(fleetId: string | null, wallet: string): Steps<boolean> {
  return fleetId === null || (yield* findFleet(fleetId, wallet)) !== null;
}

/** The first 8 hex digits of the key's SHA-256. */
function keyHint(keyHash: string): string {
  return keyHash.replace(/^0x/, '').slice(0, 8);
}

/** Tasks deleted per commit at most, so that deleting a long history does not delay other writes. */
const TASKS_PER_COMMIT = 100;

const ofTasks = (table: string) => `DELETE FROM ${table} WHERE task_id ${among('uuid', 1)}`;

export const robotDeletionSql = {
  endKey: `UPDATE robots SET key_hash = NULL, key_hint = NULL, updated_at = $3
    WHERE id = $1 AND wallet = $2 RETURNING name`,
  // Newest first, and claimed before verified: a queued task should go before it is signed, and it is rarely old.
  takeTasks: `SELECT id, status, wallet, ${bytesIn('tasks', 'tasks')} AS bytes FROM tasks
    WHERE id ${selected(`SELECT id FROM tasks WHERE robot_id = $1 AND status = $2
      ORDER BY created_at DESC, id DESC LIMIT $3`)} ORDER BY id FOR UPDATE`,
  takeQueued: `SELECT task_id, state FROM completions
    WHERE task_id ${among('uuid', 1)} AND state = 'queued' ORDER BY task_id FOR UPDATE`,
  receipts: ofTasks('receipts'),
  proofs: `${ofTasks('proofs')} RETURNING $2::text AS wallet, ${bytesIn('proofs', 'proofs')} AS bytes`,
  completions: ofTasks('completions'),
  tasks: `DELETE FROM tasks WHERE id ${among('uuid', 1)}`,
  buryTasks: `INSERT INTO tombstones (task_id, deleted_at)
    SELECT value::uuid, $2::bigint FROM json_array_elements_text($1::json)`,
  remove: 'DELETE FROM robots WHERE id = $1',
  // Receipts name the robot, and its samples go later: no other robot may get its id.
  bury: `INSERT INTO robot_tombstones (robot_id, deleted_at) VALUES ($1, $2)
    ON CONFLICT DO NOTHING`,
} as const;

interface Robot {
  id: string;
  wallet: string;
}

type TakenTask = Pick<TaskRecord, 'id' | 'status' | 'wallet'> & { bytes: number };

/** Deletes a robot and its tasks. Their leaves and ledger entries stay; they refer to the tasks by id. */
export function robotDeletion(runner: StepRunner): Pick<RobotStore, 'deleteRobot'> {
  const { write, wake, purgeLog } = runner;
  // One robot per account at a time, and one commit at a time among all deletions: other writes and other accounts
  // get their commits in between, however many robots are being deleted.
  const inAccount = new FairQueue({ atOnce: Number.POSITIVE_INFINITY });
  const inStore = new FairQueue({ atOnce: 1 });

  async function forgetAll(robot: Robot, now: number): Promise<void> {
    for (let more = true; more; ) {
      const step = await inStore.run(robot.wallet, () =>
        write(() => deleteSome(runner, robot, now)),
      );
      wake(step.forgotten.map(completionTopic));
      more = step.more;
    }
  }

  return {
    async deleteRobot(id, wallet, now, by) {
      // The key ends now, however many deletions are queued before this one.
      const isFound = await write(function* () {
        const robot = yield* first<{ name: string }>(robotDeletionSql.endKey, id, wallet, now);
        if (robot === undefined) return false;
        yield* recordAudit(wallet, 'robot_deleted', by, { target_id: id, detail: robot.name });
        return true;
      });
      if (!isFound) return false;
      // Purge even if the deletion fails halfway. Other deletions of the account need not wait for the purge.
      await inAccount.run(wallet, () => forgetAll({ id, wallet }, now)).finally(purgeLog);
      return true;
    },
  };
}

/** Deletes up to `TASKS_PER_COMMIT` tasks, and the robot if no task is left. */
function* deleteSome(runner: StepRunner, { id, wallet }: Robot, now: number) {
  const forgotten: string[] = [];
  yield* lock(wallet);
  // Again in each commit: the robot may have got a new key, and with it tasks. Without a key it gets no new task.
  if (!(yield* some(robotDeletionSql.endKey, id, wallet, now))) return { forgotten, more: false };
  const { more } = yield* deleteInCommit(runner.deletions, TASKS_PER_COMMIT, function* (most) {
    const tasks = yield* takeTasks(id, most);
    yield* forget(runner, tasks, now);
    forgotten.push(...tasks.map((task) => task.id));
    return tasks.length;
  });
  if (!more) {
    yield* rows(robotDeletionSql.remove, id);
    yield* rows(robotDeletionSql.bury, id, now);
  }
  return { forgotten, more };
}

function* takeTasks(robotId: string, most: number): Steps<TakenTask[]> {
  const { takeTasks: text } = robotDeletionSql;
  const claimed = yield* rows<TakenTask>(text, robotId, 'claimed', most);
  return claimed.length > 0 ? claimed : yield* rows<TakenTask>(text, robotId, 'verified', most);
}

function* forget(runner: StepRunner, tasks: readonly TakenTask[], now: number): Steps<void> {
  const [task] = tasks;
  if (task === undefined) return;
  const ids = JSON.stringify(tasks.map(({ id }) => id));
  type Queued = { task_id: string; state: CompletionState };
  const queued = yield* rows<Queued>(robotDeletionSql.takeQueued, ids);
  const states = new Map(queued.map(({ task_id, state }) => [task_id, state]));
  const returned = tasks.filter(({ id, status }) =>
    returnsReservation({ status, state: states.get(id) ?? null }),
  );
  yield* releaseReservations(
    returned.map(({ id }) => id),
    now,
  );
  yield* rows(robotDeletionSql.receipts, ids);
  yield* freeing(runner, robotDeletionSql.proofs, ids, task.wallet);
  yield* rows(robotDeletionSql.completions, ids);
  yield* rows(robotDeletionSql.tasks, ids);
  yield* runner.free(tasks);
  yield* rows(robotDeletionSql.buryTasks, ids, now);
}
