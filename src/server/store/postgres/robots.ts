// Authenticates robots, and keeps their last readings.

import type { RobotStore } from '../../ports/robots.ts';
import type { NewSamples } from '../../ports/telemetry.ts';
import { newest } from '../rows/robots.ts';
import type { Queries } from './engine/connections.ts';
import { type CountedRow, counting, oldWindows, toCounted } from './engine/rate-counters.ts';
import { sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';

const authenticate = sql(`WITH robot AS (SELECT id, wallet,
    coalesce(suspended_at, deleting_at) AS suspended_at
    FROM robots JOIN accounts USING (wallet) WHERE key_hash = $2),
  ${counting('robot', 'SELECT id::text AS key FROM robot')}
  SELECT robot.id, robot.wallet, robot.suspended_at, call.now, counted.used
  FROM robot CROSS JOIN call LEFT JOIN counted ON true`);
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

/**
 * Updates the last-seen time, battery and state of robots from new samples (`TelemetryStore.recordSamples`). Call it
 * inside a write that has locked the robots, with each robot once.
 */
export async function showNewest(
  tx: Queries,
  robots: readonly Omit<NewSamples, 'keyHash'>[],
): Promise<void> {
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
