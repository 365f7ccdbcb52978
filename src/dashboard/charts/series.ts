// Finds gaps and states in a series. Its own file, so that its test needs no browser.
import type { Sample, Series, SeriesPoint } from '../../protocol/telemetry.ts';

export const STEP_MS = { sample: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** What the charts show: intervals, or single samples where the period is short. */
export interface ShownSeries extends Omit<Series, 'resolution'> {
  resolution: keyof typeof STEP_MS;
}

/** A sample as an interval of its own. */
export function pointOf({ recorded_at, battery_pct, state, metrics }: Sample): SeriesPoint {
  const spread = (value: number) => ({ min: value, avg: value, max: value });
  const numbers = Object.entries(metrics).filter(([, value]) => typeof value === 'number');
  return {
    at: recorded_at,
    samples: 1,
    battery_pct: battery_pct === null ? null : spread(battery_pct),
    states: state === null ? {} : { [state]: 1 },
    metrics: Object.fromEntries(numbers.map(([name, value]) => [name, spread(value as number)])),
  };
}

/** Samples by state; the empty name is for those without one. */
export type States = Readonly<Record<string, number>>;

export interface Stretch {
  /** Null without telemetry. */
  states: States | null;
  from: number;
  to: number;
}

export interface Timeline {
  from: number;
  to: number;
  /** Starts of the intervals with samples, and one moment in each silence, in ms. */
  at: number[];
  /** Null in a silence. */
  points: (SeriesPoint | null)[];
  stretches: Stretch[];
  /** A longer time without samples is a silence: 3 times the robot's median interval. */
  joinMs: number;
}

/** Orders a series by time. `now`: the current interval, which is not over, is no silence. */
export function timelineOf({ resolution, points, ...series }: ShownSeries, now: number): Timeline {
  const step = STEP_MS[resolution];
  const [from, to] = [Date.parse(series.from), Date.parse(series.to)];
  const times = points.map(({ at }) => Date.parse(at));
  const between = times.slice(1).map((at, i) => at - (times[i] ?? at));
  const usualMs = between.sort((a, b) => a - b)[(between.length - 1) >> 1] ?? step;
  const line: Timeline = { from, to, at: [], points: [], stretches: [], joinMs: 3 * usualMs };
  const end = Math.min(to, Math.floor(now / step) * step);
  const add = (states: States | null, since: number, until: number) => {
    const last = line.stretches.at(-1);
    if (until <= since) return;
    if (last?.to !== since || !isSameState(last.states, states)) {
      line.stretches.push({ states, from: since, to: until });
      return;
    }
    last.to = until;
    last.states = states && sumOf([last.states, states]);
  };
  if ((times[0] ?? end) - from > line.joinMs) add(null, from, times[0] ?? end);
  points.forEach((point, i) => {
    const at = times[i] ?? from;
    const next = times[i + 1];
    line.at.push(at);
    line.points.push(point);
    if ((next ?? end) - at <= line.joinMs) {
      add(statesOf(point), at, next ?? Math.min(to, now));
      return;
    }
    add(statesOf(point), at, at + usualMs);
    add(null, at + usualMs, next ?? end);
    if (next === undefined) return;
    line.at.push((at + next) / 2);
    line.points.push(null);
  });
  return line;
}

/**
 * One value for each moment of a timeline. Where there is none: undefined between two values that a line joins, and null
 * in a gap, which no line crosses.
 */
export function valuesOf<Value>(
  { at, points, joinMs }: Timeline,
  read: (point: SeriesPoint) => Value | null | undefined,
): (Value | null | undefined)[] {
  const values = points.map((point) => (point && read(point)) ?? null);
  const found = values.flatMap((value, i) => (value === null ? [] : [i]));
  const joined = new Set(
    found.filter((i, place) => (at[found[place + 1] ?? -1] ?? Infinity) - (at[i] ?? 0) <= joinMs),
  );
  let isJoined = false;
  return values.map((value, i) => {
    if (value !== null) isJoined = joined.has(i);
    return value === null && isJoined ? undefined : value;
  });
}

/** A metric of an interval. A robot may name one `constructor`, which every object inherits. */
export function metricOf({ metrics }: SeriesPoint, name: string) {
  return Object.hasOwn(metrics, name) ? metrics[name] : undefined;
}

/** Places of values that no line reaches. */
export function loneValues(values: readonly unknown[]): number[] {
  const places = [...values.keys()].filter((i) => values[i] !== undefined);
  const isGap = (i: number | undefined) => i === undefined || values[i] === null;
  return places.filter((i, n) => !isGap(i) && isGap(places[n - 1]) && isGap(places[n + 1]));
}

/** The samples of several intervals by state. */
export function sumOf(all: readonly (States | null)[]): States {
  const sum = new Map<string, number>();
  for (const [state, count] of all.flatMap((states) => Object.entries(states ?? {}))) {
    sum.set(state, (sum.get(state) ?? 0) + count);
  }
  return Object.fromEntries(sum);
}

function statesOf({ samples, states }: SeriesPoint): States {
  const without = samples - Object.values(states).reduce((sum, count) => sum + count, 0);
  return without > 0 ? { ...states, '': without } : states;
}

/** Whether both have no telemetry, or samples of one state, which is the same. */
function isSameState(one: States | null, other: States | null): boolean {
  if (one === null || other === null) return one === other;
  const [names, others] = [Object.keys(one), Object.keys(other)];
  return names.length === 1 && others.length === 1 && names[0] === others[0];
}
