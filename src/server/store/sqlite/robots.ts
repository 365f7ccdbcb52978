// Authenticates robots.

import type { RobotStore } from '../../ports/robots.ts';
import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { RateCounters } from './engine/rate-counters.ts';

export function robotAuthentication({ read }: Db, counters: RateCounters) {
  return {
    authenticateRobot: (keyHash) =>
      read(async (tx) => {
        const row = await tx.get<{ id: string; wallet: string; suspended_at: number | null }>(
          sql`SELECT id, wallet, (SELECT coalesce(suspended_at, deleting_at) FROM accounts a
              WHERE a.wallet = robots.wallet) AS suspended_at
            FROM robots WHERE key_hash = ${keyHash}`,
        );
        if (row === null) return null;
        const { id, wallet, suspended_at } = row;
        const robot = { id, wallet, keyHash, isSuspended: suspended_at !== null };
        return { robot, count: counters.count('robot', id) };
      }),
    countBatch: async (robotId, tasks) => counters.count('batch', robotId, tasks),
  } satisfies Partial<RobotStore>;
}
