import type { Database } from 'better-sqlite3';
import { limits } from '../../../protocol/limits.ts';
import type { RobotPatch, RobotRecord, RobotStore } from '../../core/robot-store.ts';
import { keyHint, ROBOT_COLUMNS, type RobotRow, toRobot } from '../robot-rows.ts';
import type { Access } from './access.ts';
import { fleetReader } from './fleets.ts';
import type { RateCounters } from './rate-counters.ts';
import type { RobotKeys } from './robot-keys.ts';

export function robotStore(
  { reader, writer, write, read, readNow }: Access,
  { counters, keys }: { counters: RateCounters; keys: RobotKeys },
): Omit<RobotStore, 'deleteRobot'> {
  const find = robotReader(reader);
  const byKey = reader.prepare<[string], { id: string; wallet: string }>(
    'SELECT id, wallet FROM robots WHERE key_hash = ?',
  );
  const page = reader.prepare<[string, string, number], RobotRow>(
    `SELECT ${ROBOT_COLUMNS} FROM robots WHERE wallet = ? AND id > ? ORDER BY id LIMIT ?`,
  );
  const count = writer.prepare<[string], { robots: number }>(
    'SELECT count(*) AS robots FROM robots WHERE wallet = ?',
  );
  const insert = writer.prepare<[Record<string, string | number | null>], RobotRow>(
    `INSERT INTO robots (id, wallet, name, description, key_hash, key_hint, created_at, updated_at)
     VALUES (:id, :wallet, :name, :description, :keyHash, :keyHint, :createdAt, :createdAt)
     RETURNING ${ROBOT_COLUMNS}`,
  );

  return {
    async authenticateRobot(keyHash) {
      const robot = keys.ownerOf(keyHash, () => readNow(() => byKey.get(keyHash)));
      if (robot === undefined) return null;
      return { robot, count: counters.count('robot', robot.id) };
    },

    createRobot: (robot) =>
      write(() => {
        if ((count.get(robot.wallet)?.robots ?? 0) >= limits.robotsPerAccount) {
          return { outcome: 'robot_limit_reached' };
        }
        const row = insert.get({ ...robot, keyHint: keyHint(robot.keyHash) });
        if (row === undefined) throw new Error('The robot was not stored');
        return { outcome: 'created', robot: toRobot(row) };
      }),

    getRobot: (id, wallet) => read(() => find(id, wallet)),

    listRobots: (wallet, limit, after) =>
      read(() => page.all(wallet, after ?? '', limit).map(toRobot)),

    ...robotChanges({ writer, write }),
  };
}

function robotChanges({
  writer,
  write,
}: Pick<Access, 'writer' | 'write'>): Pick<
  RobotStore,
  'patchRobot' | 'assignRobots' | 'replaceKey'
> {
  const find = robotReader(writer);
  const findFleet = fleetReader(writer);
  const update = writer.prepare<[Record<string, string | number | null>]>(
    `UPDATE robots SET name = :name, description = :description, fleet_id = :fleetId,
       updated_at = :now
     WHERE id = :id`,
  );
  const setKey = writer.prepare<[string | null, string | null, number, string]>(
    'UPDATE robots SET key_hash = ?, key_hint = ?, updated_at = ? WHERE id = ?',
  );
  const hasFleet = (fleetId: string | null, wallet: string) =>
    fleetId === null || findFleet(fleetId, wallet) !== null;

  function change(before: RobotRecord, patch: RobotPatch, now: number): RobotRecord {
    const { id, wallet, name, description, fleetId } = { ...before, ...patch };
    update.run({ id, name, description, fleetId, now });
    return stored(find(id, wallet));
  }

  return {
    patchRobot: (id, wallet, patch, now) =>
      write(() => {
        const robot = find(id, wallet);
        if (robot === null) return { outcome: 'robot_not_found' };
        if (!hasFleet(patch.fleetId ?? null, wallet)) return { outcome: 'fleet_not_found' };
        return { outcome: 'patched', robot: change(robot, patch, now) };
      }),

    assignRobots: (wallet, ids, fleetId, now) =>
      write(() => {
        if (!hasFleet(fleetId, wallet)) return { outcome: 'fleet_not_found' };
        const robots = ids.map((id) => find(id, wallet)).filter((robot) => robot !== null);
        if (robots.length < ids.length) return { outcome: 'robot_not_found' };
        return {
          outcome: 'assigned',
          robots: robots.map((robot) => change(robot, { fleetId }, now)),
        };
      }),

    replaceKey: (id, wallet, keyHash, now) =>
      write(() => {
        if (find(id, wallet) === null) return null;
        setKey.run(keyHash, keyHash === null ? null : keyHint(keyHash), now, id);
        return find(id, wallet);
      }),
  };
}

/** Finds a robot under its own account. */
function robotReader(db: Database): (id: string, wallet: string) => RobotRecord | null {
  const find = db.prepare<[string, string], RobotRow>(
    `SELECT ${ROBOT_COLUMNS} FROM robots WHERE id = ? AND wallet = ?`,
  );
  return (id, wallet) => {
    const row = find.get(id, wallet);
    return row === undefined ? null : toRobot(row);
  };
}

function stored(robot: RobotRecord | null): RobotRecord {
  if (robot === null) throw new Error('The robot was not stored');
  return robot;
}
