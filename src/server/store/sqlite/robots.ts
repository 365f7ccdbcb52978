// Authenticates robots, and keeps their last readings.

import type { Database } from 'better-sqlite3';
import type { RobotStore } from '../../ports/robots.ts';
import type { SampleRecord } from '../../ports/telemetry.ts';
import { rows } from '../engine/steps.ts';
import { eventSql } from '../events.ts';
import { type ShownRow, shownAfter, shownColumns } from '../rows/robots.ts';
import type { Access } from './engine/connections.ts';
import type { RateCounters } from './engine/rate-counters.ts';
import { runOn } from './engine/run-steps.ts';

export function robotAuthentication({ reader, read }: Access, counters: RateCounters) {
  const byKey = reader.prepare<
    [string],
    { id: string; wallet: string; suspended_at: number | null }
  >(
    `SELECT id, wallet, (SELECT coalesce(suspended_at, deleting_at) FROM accounts a WHERE a.wallet = robots.wallet)
       AS suspended_at
     FROM robots WHERE key_hash = ?`,
  );

  return {
    authenticateRobot: (keyHash) =>
      read(() => {
        const row = byKey.get(keyHash);
        if (row === undefined) return null;
        const { id, wallet, suspended_at } = row;
        const robot = { id, wallet, keyHash, isSuspended: suspended_at !== null };
        return { robot, count: counters.count('robot', id) };
      }),
  } satisfies Partial<RobotStore>;
}

/** Updates the robot's last-seen time, battery and state from new samples (`TelemetryStore.recordSamples`). */
export function showNewest(
  writer: Database,
): (robotId: string, samples: readonly SampleRecord[], now: number) => void {
  const run = runOn(writer);
  const find = writer.prepare<[string], ShownRow>(
    `SELECT ${shownColumns.join(', ')} FROM robots WHERE id = ?`,
  );
  const show = writer.prepare<(number | string | null)[]>(
    `UPDATE robots SET ${shownColumns.map((name) => `${name} = ?`).join(', ')} WHERE id = ?`,
  );
  return (robotId, samples, now) => {
    run(rows(eventSql.seen, robotId, now));
    const shown = find.get(robotId);
    if (shown !== undefined) show.run(...shownAfter(shown, samples, now), robotId);
  };
}
