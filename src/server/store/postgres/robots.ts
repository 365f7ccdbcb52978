// Authenticates robots.

import type { RobotStore } from '../../ports/robots.ts';
import { sql } from '../db/sql.ts';
import type { PostgresDb } from './engine/database.ts';
import { type CountedRow, counting, oldWindows, toCounted } from './engine/rate-counters.ts';

export function robotAuthentication(
  db: PostgresDb,
): Pick<RobotStore, 'authenticateRobot' | 'countBatch'> {
  const noteWindow = oldWindows(db);

  return {
    async authenticateRobot(keyHash) {
      type Row = CountedRow & { id: string; wallet: string; suspended_at: number | null };
      const row = await db.alone((tx) =>
        tx.get<Row>(sql`WITH robot AS (
            SELECT id, wallet, coalesce(suspended_at, deleting_at) AS suspended_at
            FROM robots JOIN accounts USING (wallet) WHERE key_hash = ${keyHash}),
          ${counting('robot', sql`SELECT id::text AS key FROM robot`)}
          SELECT robot.id, robot.wallet, robot.suspended_at, call.now, counted.used
          FROM robot CROSS JOIN call LEFT JOIN counted ON true`),
      );
      if (row === undefined) return null;
      noteWindow(row);
      const { id, wallet, suspended_at } = row;
      const robot = { id, wallet, keyHash, isSuspended: suspended_at !== null };
      return { robot, count: toCounted('robot', row) };
    },

    async countBatch(robotId, tasks) {
      const subject = sql`SELECT ${robotId}::text AS key`;
      const row = await db.alone((tx) =>
        tx.get<CountedRow>(sql`WITH ${counting('batch', subject, tasks)}
          SELECT call.now, counted.used FROM call LEFT JOIN counted ON true`),
      );
      if (row === undefined) throw new Error('The count returned no row');
      return toCounted('batch', row);
    },
  };
}
