import { limits } from '../../../protocol/limits.ts';
import type { RobotRecord, RobotStore } from '../../core/robot-store.ts';
import type { Access } from './access.ts';
import type { RateCounters } from './rate-counters.ts';

interface RobotRow {
  id: string;
  wallet: string;
  name: string;
  description: string | null;
  fleet_id: string | null;
  key_hint: string | null;
  created_at: number;
  updated_at: number;
  last_seen_at: number | null;
  battery_pct: number | null;
  state: string | null;
}

const COLUMNS = `id, wallet, name, description, fleet_id, key_hint, created_at, updated_at,
  last_seen_at, battery_pct, state`;

export function robotStore(
  { reader, writer, write, read }: Access,
  counters: RateCounters,
): RobotStore {
  const byKey = reader.prepare<[string], RobotRow>(
    `SELECT ${COLUMNS} FROM robots WHERE key_hash = ?`,
  );
  const page = reader.prepare<[string, string, number], RobotRow>(
    `SELECT ${COLUMNS} FROM robots WHERE wallet = ? AND id > ? ORDER BY id LIMIT ?`,
  );
  const count = writer.prepare<[string], { robots: number }>(
    'SELECT count(*) AS robots FROM robots WHERE wallet = ?',
  );
  const insert = writer.prepare<[Record<string, string | number | null>], RobotRow>(
    `INSERT INTO robots (id, wallet, name, description, key_hash, key_hint, created_at, updated_at)
     VALUES (:id, :wallet, :name, :description, :keyHash, :keyHint, :createdAt, :createdAt)
     RETURNING ${COLUMNS}`,
  );

  return {
    authenticateRobot: (keyHash) =>
      read(() => {
        const row = byKey.get(keyHash);
        if (row === undefined) return null;
        return { robot: toRobot(row), count: counters.count('robot', row.id) };
      }),

    createRobot: (robot) =>
      write(() => {
        if ((count.get(robot.wallet)?.robots ?? 0) >= limits.robotsPerAccount) {
          return { outcome: 'robot_limit_reached' };
        }
        const row = insert.get({ ...robot, keyHint: keyHint(robot.keyHash) });
        if (row === undefined) throw new Error('The robot was not stored');
        return { outcome: 'created', robot: toRobot(row) };
      }),

    listRobots: (wallet, limit, after) =>
      read(() => page.all(wallet, after ?? '', limit).map(toRobot)),
  };
}

/** First 8 hex digits of the key's SHA-256. */
function keyHint(keyHash: string): string {
  return keyHash.replace(/^0x/, '').slice(0, 8);
}

function toRobot(row: RobotRow): RobotRecord {
  return {
    id: row.id,
    wallet: row.wallet,
    name: row.name,
    description: row.description,
    fleetId: row.fleet_id,
    keyHint: row.key_hint,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    lastSeenAt: row.last_seen_at,
    batteryPct: row.battery_pct,
    state: row.state,
  };
}
