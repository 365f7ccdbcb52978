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

/** New samples, summed up for one interval. */
interface NewSummary {
  resolution: Resolution;
  at: number;
  summary: SampleSummary;
}

/** Sums up samples by their minutes, hours and days. The limits on states and metrics apply when it is stored. */
export function summarize(samples: readonly SampleRecord[]): NewSummary[] {
  const minutes = new Map<number, SampleSummary>();
  for (const sample of samples) {
    addSample(intervalOf(minutes, 'minute', sample.recordedAt), sample);
  }
  const hours = joined(minutes, 'hour');
  const intervals = { minute: minutes, hour: hours, day: joined(hours, 'day') };
  return resolutions.flatMap((resolution) =>
    [...intervals[resolution]].map(([at, summary]) => ({ resolution, at, summary })),
  );
}

/** The summaries of longer intervals. */
function joined(parts: ReadonlyMap<number, SampleSummary>, resolution: Resolution) {
  const intervals = new Map<number, SampleSummary>();
  for (const [at, part] of parts) addSummary(intervalOf(intervals, resolution, at), part);
  return intervals;
}

/** The summary of the interval around an instant. Adds an empty one. */
function intervalOf(
  intervals: Map<number, SampleSummary>,
  resolution: Resolution,
  instant: number,
): SampleSummary {
  const at = beginOf(resolution, instant);
  const summary = intervals.get(at) ?? emptySummary();
  intervals.set(at, summary);
  return summary;
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

/** The stored summary with more samples. States and metrics that are new to a full summary are left out. */
export function storedWith(stored: StoredSummary | null, added: SampleSummary): StoredSummary {
  const summary = stored === null ? emptySummary() : readSummary(stored);
  addSummary(summary, added, limits);
  const { samples, battery, states, metrics } = summary;
  return {
    samples,
    battery: battery && JSON.stringify(battery),
    states: JSON.stringify(Object.fromEntries(states)),
    metrics: JSON.stringify(Object.fromEntries(metrics)),
  };
}

/** Adds a sample: its battery, its state, and of its metrics the top-level numbers whose names are short enough. */
export function addSample(summary: SampleSummary, sample: SampleRecord): void {
  const { batteryPct, state } = sample;
  summary.samples += 1;
  if (batteryPct !== null) summary.battery = addReading(summary.battery, batteryPct);
  if (state !== null) summary.states.set(state, (summary.states.get(state) ?? 0) + 1);
  if (sample.metrics === '{}') return;
  const metrics: Record<string, unknown> = JSON.parse(sample.metrics);
  for (const name of Object.keys(metrics)) {
    const value = metrics[name];
    if (typeof value !== 'number' || !isShort(name)) continue;
    const spread = summary.metrics.get(name);
    if (spread === undefined) summary.metrics.set(name, addReading(null, value));
    else addReading(spread, value);
  }
}

const UNLIMITED = {
  seriesStates: Number.POSITIVE_INFINITY,
  seriesMetrics: Number.POSITIVE_INFINITY,
};

/** Adds a summary to another one. Names that have no room are left out. */
export function addSummary(
  summary: SampleSummary,
  { samples, battery, states, metrics }: SampleSummary,
  { seriesStates, seriesMetrics }: typeof UNLIMITED = UNLIMITED,
): void {
  summary.samples += samples;
  if (battery !== null) summary.battery = addSpread(summary.battery, battery);
  for (const [state, count] of states) {
    const before = summary.states.get(state);
    if (before === undefined && summary.states.size >= seriesStates) continue;
    summary.states.set(state, (before ?? 0) + count);
  }
  for (const [name, spread] of metrics) {
    const before = summary.metrics.get(name);
    if (before !== undefined) addSpread(before, spread);
    else if (summary.metrics.size < seriesMetrics)
      summary.metrics.set(name, addSpread(null, spread));
  }
}

/** Changes the spread in place. */
function addReading(spread: Spread | null, reading: number): Spread {
  if (spread === null) return [1, reading, reading, reading];
  spread[0] += 1;
  if (reading < spread[1]) spread[1] = reading;
  if (reading > spread[2]) spread[2] = reading;
  spread[3] = finite(spread[3] + reading);
  return spread;
}

/** Changes the first spread in place. */
function addSpread(spread: Spread | null, [count, min, max, sum]: Spread): Spread {
  if (spread === null) return [count, min, max, sum];
  spread[0] += count;
  spread[1] = Math.min(spread[1], min);
  spread[2] = Math.max(spread[2], max);
  spread[3] = finite(spread[3] + sum);
  return spread;
}

/** A sum stays a number: JSON has no infinity. */
function finite(sum: number): number {
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, sum));
}
