import { limits } from '../../protocol/limits.ts';

/** Of one number over some samples. The mean, not the sum: it cannot leave the range of a double. */
export interface Spread {
  count: number;
  min: number;
  max: number;
  mean: number;
}

/**
 * What a set of samples says. Maps, because the names are the callers'. At most `limits.seriesStates` states
 * and `limits.seriesMetrics` metrics are held, the first to come.
 */
export interface SampleSummary {
  samples: number;
  battery: Spread | null;
  states: Map<string, number>;
  metrics: Map<string, Spread>;
}

export interface SampleReadings {
  batteryPct: number | null;
  state: string | null;
  /** Canonical JSON of an object. */
  metrics: string;
}

export function emptySummary(): SampleSummary {
  return { samples: 0, battery: null, states: new Map(), metrics: new Map() };
}

/** Changes `summary`. Of `metrics` it counts the numbers at the top level whose names are short. */
export function addSample(summary: SampleSummary, sample: SampleReadings): void {
  summary.samples += 1;
  if (sample.batteryPct !== null) {
    summary.battery = mergeSpreads(summary.battery, spreadOf(sample.batteryPct));
  }
  if (sample.state !== null) addState(summary.states, sample.state, 1);
  if (sample.metrics === '{}') return;
  for (const [name, reading] of Object.entries<unknown>(JSON.parse(sample.metrics))) {
    if (typeof reading === 'number' && name.length <= limits.seriesNameLength) {
      addMetric(summary.metrics, name, spreadOf(reading));
    }
  }
}

/** Changes `summary` to what both say together. */
export function addSummary(summary: SampleSummary, added: SampleSummary): void {
  summary.samples += added.samples;
  if (added.battery !== null) summary.battery = mergeSpreads(summary.battery, added.battery);
  for (const [state, count] of added.states) addState(summary.states, state, count);
  for (const [name, spread] of added.metrics) addMetric(summary.metrics, name, spread);
}

function addState(states: Map<string, number>, state: string, count: number): void {
  const before = states.get(state);
  if (before === undefined && states.size >= limits.seriesStates) return;
  states.set(state, (before ?? 0) + count);
}

function addMetric(metrics: Map<string, Spread>, name: string, spread: Spread): void {
  const before = metrics.get(name);
  if (before === undefined && metrics.size >= limits.seriesMetrics) return;
  metrics.set(name, mergeSpreads(before ?? null, spread));
}

function spreadOf(value: number): Spread {
  return { count: 1, min: value, max: value, mean: value };
}

function mergeSpreads(a: Spread | null, b: Spread): Spread {
  if (a === null) return b;
  const count = a.count + b.count;
  const min = Math.min(a.min, b.min);
  const max = Math.max(a.max, b.max);
  // Rounding must not push the mean of equal values away from them.
  const mean = Math.min(
    max,
    Math.max(min, a.mean * (a.count / count) + b.mean * (b.count / count)),
  );
  return { count, min, max, mean };
}

type StoredSpread = [count: number, min: number, max: number, mean: number];

/** As a store keeps it; `samples` is kept beside it. Lists of pairs, because a name may be `__proto__`. */
export function encodeSummary({ battery, states, metrics }: SampleSummary): string {
  return JSON.stringify({
    battery: battery === null ? null : encodeSpread(battery),
    states: [...states],
    metrics: [...metrics].map(([name, spread]) => [name, encodeSpread(spread)]),
  });
}

export function decodeSummary(samples: number, text: string): SampleSummary {
  const stored: {
    battery: StoredSpread | null;
    states: [string, number][];
    metrics: [string, StoredSpread][];
  } = JSON.parse(text);
  return {
    samples,
    battery: stored.battery === null ? null : decodeSpread(stored.battery),
    states: new Map(stored.states),
    metrics: new Map(stored.metrics.map(([name, spread]) => [name, decodeSpread(spread)])),
  };
}

function encodeSpread({ count, min, max, mean }: Spread): StoredSpread {
  return [count, min, max, mean];
}

function decodeSpread([count, min, max, mean]: StoredSpread): Spread {
  return { count, min, max, mean };
}
