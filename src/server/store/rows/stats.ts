// Converts rows of statistics.

import type { StatsRecord } from '../../ports/telemetry.ts';

export interface StatsRobotRow {
  last_seen_at: number | null;
  battery_pct: number | null;
  state: string | null;
}

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
  tasks: StatsRecord['tasks'];
  hours: readonly HourRow[];
  days: readonly DayRow[];
}): StatsRecord {
  return {
    robots: rows.robots.map((row) => ({
      lastSeenAt: row.last_seen_at,
      batteryPct: row.battery_pct,
      state: row.state,
    })),
    tasks: rows.tasks,
    hours: rows.hours.map(({ at, samples, info, warn, error }) => ({
      at,
      samples,
      events: { info, warn, error },
    })),
    days: rows.days.map(({ at, anchors, gas_wei }) => ({ at, anchors, gasWei: BigInt(gas_wei) })),
  };
}
