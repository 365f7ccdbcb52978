// Rolls up telemetry samples by minute, hour and day (UTC): counts of states; count, min, max and sum of numbers.

import { limits } from '../../../protocol/limits.ts';
import type { Resolution } from '../../../protocol/telemetry.ts';
import {
  type SampleRecord,
  type SampleSummary,
  type Spread,
  stepMs,
} from '../../ports/telemetry.ts';
import { raw } from '../db/sql.ts';

export const resolutions = ['minute', 'hour', 'day'] as const;

/** The start of the interval (UTC) that contains the instant, in ms. */
export function beginOf(resolution: Resolution, instant: number): number {
  return Math.floor(instant / stepMs[resolution]) * stepMs[resolution];
}

/** Groups items by the start of their interval. */
export function byInterval<Item extends { recordedAt: number }>(
  resolution: Resolution,
  items: readonly Item[],
): Map<number, Item[]> {
  const intervals = new Map<number, Item[]>();
  for (const item of items) {
    const at = beginOf(resolution, item.recordedAt);
    const ofInterval = intervals.get(at) ?? [];
    intervals.set(at, ofInterval);
    ofInterval.push(item);
  }
  return intervals;
}

/** Groups samples by their minutes, hours and days. Each sample is in one of each. */
export function intervalsOf<Item extends { recordedAt: number }>(samples: readonly Item[]) {
  return resolutions.flatMap((resolution) =>
    [...byInterval(resolution, samples)].map(([at, ofInterval]) => {
      return { resolution, at, samples: ofInterval };
    }),
  );
}

/** The readings of a sample that are rolled up: of its metrics, the top-level numbers whose names are short enough. */
export interface Readings {
  recordedAt: number;
  batteryPct: number | null;
  state: string | null;
  metrics: [name: string, reading: number][];
}

export function readingsOf(sample: SampleRecord): Readings {
  const metrics: Readings['metrics'] = [];
  for (const [name, value] of Object.entries(JSON.parse(sample.metrics))) {
    if (typeof value === 'number' && isShort(name)) metrics.push([name, value]);
  }
  return { ...sample, metrics };
}

/** Compares code points with the limit. A code point is one or two UTF-16 units, which is what `length` counts. */
function isShort(name: string): boolean {
  const most = limits.seriesNameLength;
  return name.length <= most || (name.length <= 2 * most && [...name].length <= most);
}

/** A summary as it is stored. The texts are JSON: a spread, the counts by state, and the spreads by name. */
export interface StoredSummary {
  samples: number;
  battery: string | null;
  states: string;
  metrics: string;
}

export const SUMMARY_COLUMNS = raw('samples, battery, states, metrics');

export function emptySummary(): SampleSummary {
  return { samples: 0, battery: null, states: new Map(), metrics: new Map() };
}

/** Maps, because names such as `__proto__` are no keys of an ordinary object. */
export function readSummary({ samples, battery, states, metrics }: StoredSummary): SampleSummary {
  return {
    samples,
    battery: battery && JSON.parse(battery),
    states: new Map(Object.entries(JSON.parse(states))),
    metrics: new Map(Object.entries(JSON.parse(metrics))),
  };
}

/** The stored summary with more samples. */
export function summaryWith(
  stored: StoredSummary | undefined,
  added: readonly Readings[],
): StoredSummary {
  const summary = stored === undefined ? emptySummary() : readSummary(stored);
  for (const readings of added) addReadings(summary, readings);
  const { samples, battery, states, metrics } = summary;
  return {
    samples,
    battery: battery && JSON.stringify(battery),
    states: JSON.stringify(Object.fromEntries(states)),
    metrics: JSON.stringify(Object.fromEntries(metrics)),
  };
}

/** Adds the readings of a sample. States and metrics that are new to a full summary are left out. */
export function addReadings(
  summary: SampleSummary,
  { batteryPct, state, metrics }: Readings,
): void {
  const { states, metrics: spreads } = summary;
  summary.samples += 1;
  if (batteryPct !== null) summary.battery = spreadWith(summary.battery, batteryPct);
  if (state !== null && (states.has(state) || states.size < limits.seriesStates)) {
    states.set(state, (states.get(state) ?? 0) + 1);
  }
  for (const [name, reading] of metrics) {
    const spread = spreads.get(name);
    if (spread !== undefined || spreads.size < limits.seriesMetrics) {
      spreads.set(name, spreadWith(spread, reading));
    }
  }
}

function spreadWith(spread: Spread | null | undefined, reading: number): Spread {
  const [count, min, max, sum] = spread ?? [0, reading, reading, 0];
  const total = Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, sum + reading));
  return [count + 1, Math.min(min, reading), Math.max(max, reading), total];
}
