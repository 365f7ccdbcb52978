// Converts rows of statistics.

import type { StatsRecord } from '../../ports/telemetry.ts';

export const STATS_ROBOT_COLUMNS =
  'last_seen_at AS "lastSeenAt", battery_pct AS "batteryPct", state';

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
  robots: StatsRecord['robots'];
  tasks: StatsRecord['tasks'];
  hours: readonly HourRow[];
  days: readonly DayRow[];
}): StatsRecord {
  return {
    robots: rows.robots,
    tasks: rows.tasks,
    hours: rows.hours.map(({ at, samples, info, warn, error }) => ({
      at,
      samples,
      events: { info, warn, error },
    })),
    days: rows.days.map(({ at, anchors, gas_wei }) => ({ at, anchors, gasWei: BigInt(gas_wei) })),
  };
}
