// Converts rows of statistics.

import type { StatsRecord } from '../../ports/telemetry.ts';

/** Selects the robots of an account or a fleet, whose id is `$1`, with their counts of tasks. */
export function selectRobots(column: 'wallet' | 'fleet_id'): string {
  return `SELECT r.last_seen_at AS "lastSeenAt", r.battery_pct AS "batteryPct", r.state,
      coalesce(c.claimed, 0) AS claimed, coalesce(c.verified, 0) AS verified
    FROM robots r LEFT JOIN task_counts c ON c.robot_id = r.id WHERE r.${column} = $1`;
}

export type StatsRobotRow = StatsRecord['robots'][number] & StatsRecord['tasks'];

export interface HourRow {
  at: number;
  samples: number;
  info: number;
  warn: number;
  error: number;
}

export interface DayRow {
  at: number;
  anchors: number;
  gas_wei: string;
}

export function toStats(rows: {
  robots: readonly StatsRobotRow[];
  hours: readonly HourRow[];
  days: readonly DayRow[];
}): StatsRecord {
  return {
    robots: rows.robots.map(({ lastSeenAt, batteryPct, state }) => ({
      lastSeenAt,
      batteryPct,
      state,
    })),
    tasks: {
      claimed: rows.robots.reduce((sum, { claimed }) => sum + claimed, 0),
      verified: rows.robots.reduce((sum, { verified }) => sum + verified, 0),
    },
    hours: rows.hours.map(({ at, samples, info, warn, error }) => ({
      at,
      samples,
      events: { info, warn, error },
    })),
    days: rows.days.map(({ at, anchors, gas_wei }) => ({ at, anchors, gasWei: BigInt(gas_wei) })),
  };
}
