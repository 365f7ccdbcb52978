// Authenticates robots, and keeps their last readings.

import type { RobotStore } from '../../ports/robots.ts';
import type { NewSamples } from '../../ports/telemetry.ts';
import { type ShownRow, shownAfter, shownColumns } from '../rows/robots.ts';
import type { Queries } from './engine/connections.ts';
import { sql } from './engine/connections.ts';
import { type CountedRow, counting, oldWindows, toCounted } from './engine/rate-counters.ts';
import type { Access } from './engine/transactions.ts';

const authenticate = sql(`WITH robot AS (SELECT id, wallet,
    coalesce(suspended_at, deleting_at) AS suspended_at
    FROM robots JOIN accounts USING (wallet) WHERE key_hash = $2),
  ${counting('robot', 'SELECT id::text AS key FROM robot')}
  SELECT robot.id, robot.wallet, robot.suspended_at, call.now, counted.used
  FROM robot CROSS JOIN call LEFT JOIN counted ON true`);
const show = sql(`UPDATE robots SET last_seen_at = greatest(last_seen_at, heard.at),
    ${shownColumns.map((name) => `${name} = heard.${name}`).join(', ')}
  FROM unnest($1::uuid[], $2::bigint[], $3::double precision[], $4::bigint[], $5::bigint[],
      $6::text[], $7::bigint[], $8::bigint[]) AS heard (robot_id, at, ${shownColumns.join(', ')})
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
      const robot = { id, wallet, keyHash, isSuspended: suspended_at !== null };
      return { robot, count: toCounted('robot', row) };
    },
  };
}

/**
 * Updates the last-seen time, battery and state of robots from new samples (`TelemetryStore.recordSamples`). Call it
 * inside a write that has locked the robots, with each robot once.
 */
export async function showNewest(
  tx: Queries,
  robots: readonly (Omit<NewSamples, 'keyHash'> & { robot: ShownRow })[],
): Promise<void> {
  const shown = robots.map(({ robot, samples, now }) => shownAfter(robot, samples, now));
  await tx.run(show, [
    robots.map(({ robotId }) => robotId),
    robots.map(({ now }) => now),
    ...shownColumns.map((_, i) => shown.map((values) => values[i] ?? null)),
  ]);
}
