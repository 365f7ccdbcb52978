// Stores robots: creation, keys and fleet membership.

import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../protocol/limits.ts';
import type { RobotRecord, RobotStore } from '../ports/robots.ts';
import { recordAudit, recordNamed } from './audit-log.ts';
import {
  first,
  insert,
  lock,
  NO_ID,
  rows,
  type StepRunner,
  type Steps,
  some,
} from './engine/steps.ts';
import { findFleet } from './fleets.ts';

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
