// Authenticates robots, those of concurrent calls in one statement.

import { batching } from '../../../base/async/batching.ts';
import type { RobotStore } from '../../ports/robots.ts';
import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { PostgresDb } from './engine/database.ts';
import { type CountedRow, counting, oldWindows, toCounted } from './engine/rate-counters.ts';

const GROUPS_AT_ONCE = 2;
const CALLS_AT_ONCE = 256;

export function robotAuthentication(
  db: PostgresDb,
): Pick<RobotStore, 'authenticateRobot' | 'countBatch'> {
  const noteWindow = oldWindows(db);

  return {
    authenticateRobot: batching({
      atOnce: GROUPS_AT_ONCE,
      keyOf: (keyHash: string) => keyHash,
      startGroup: callGroup,
      async doTogether(keyHashes) {
        const rows = await authenticate(db.alone, keyHashes);
        if (rows[0] !== undefined) noteWindow(rows[0]);
        const found = new Map(rows.map((row) => [row.key_hash, row]));
        return (keyHash: string) => {
          const row = found.get(keyHash);
          if (row === undefined) return null;
          const { id, wallet, suspended_at } = row;
          const robot = { id, wallet, keyHash, isSuspended: suspended_at !== null };
          return { robot, count: toCounted('robot', row) };
        };
      },
    }),

    async countBatch(robotId, tasks) {
      const subject = sql`SELECT ${robotId}::text AS key`;
      const row = await db.alone.one<CountedRow>(sql`WITH ${counting('batch', subject, tasks)}
        SELECT call.now, counted.used FROM call LEFT JOIN counted ON true`);
      return toCounted('batch', row);
    },
  };
}

interface RobotRow extends CountedRow {
  id: string;
  wallet: string;
  key_hash: string;
  suspended_at: number | null;
}

/** Finds the robots of the keys, and counts a call of each. */
function authenticate(tx: Tx, keyHashes: readonly string[]) {
  return tx.all<RobotRow>(sql`WITH robot AS (
      SELECT id::text AS id, wallet, key_hash, coalesce(suspended_at, deleting_at) AS suspended_at
      FROM robots JOIN accounts USING (wallet) WHERE key_hash = ANY(${keyHashes}::text[])),
    ${counting('robot', sql`SELECT id AS key FROM robot`)}
    SELECT robot.*, call.now, counted.used
    FROM robot CROSS JOIN call LEFT JOIN counted ON counted.key = robot.id`);
}

/** A key is in a group once, because a statement can change its counter only once. */
function callGroup(): (keyHash: string) => boolean {
  const keys = new Set<string>();
  return (keyHash) => keys.size < CALLS_AT_ONCE && !keys.has(keyHash) && keys.add(keyHash).size > 0;
}
