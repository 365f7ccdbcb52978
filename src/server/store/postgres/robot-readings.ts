import type { SampleRecord } from '../../core/telemetry-store.ts';
import { newest } from '../newest-reading.ts';
import type { Queries } from './connections.ts';
import { sql } from './sql.ts';

/** New samples of a robot that was heard of at `now`. */
interface Heard {
  robotId: string;
  samples: readonly SampleRecord[];
  now: number;
}

// Where a reading is null, so is its time, and nothing is newer than that.
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

/**
 * Brings what robots show up to date with their new samples: `TelemetryStore.recordSamples`. Inside a write that holds
 * their rows; each robot once.
 */
export async function showNewest(tx: Queries, robots: readonly Heard[]): Promise<void> {
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
