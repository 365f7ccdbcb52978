import { limits } from '../../../protocol/limits.ts';
import type { SampleSummary, Spread } from '../../ports/telemetry.ts';

/** Names in the order in which they came, up to a limit; each has a number, from 0. */
class NameList {
  readonly #limit: number;
  readonly #numbers: Map<string, number>;

  constructor(limit: number, names: readonly string[]) {
    this.#limit = limit;
    this.#numbers = new Map(names.map((name, number) => [name, number]));
  }

  get names(): string[] {
    return [...this.#numbers.keys()];
  }

  get size(): number {
    return this.#numbers.size;
  }

  /** The number of the name, which it gets here where there is room; else undefined. */
  take(name: string): number | undefined {
    const known = this.#numbers.get(name);
    if (known !== undefined || this.size >= this.#limit) return known;
    this.#numbers.set(name, this.size);
    return this.size - 1;
  }
}

/**
 * The states and metrics that are told apart in one robot's day (UTC): the first `limits.seriesStates` and
 * `limits.seriesMetrics` of it. A name never loses its number, so that what is told of it counts all its
 * readings of the day.
 */
export interface RollUpNames {
  states: NameList;
  metrics: NameList;
}

/** Of a day as stored, by number; without it, of one that holds none yet. */
export interface StoredNames {
  states: string[];
  metrics: string[];
}

export const noNames: StoredNames = { states: [], metrics: [] };

export function rollUpNames({ states, metrics }: StoredNames): RollUpNames {
  return {
    states: new NameList(limits.seriesStates, states),
    metrics: new NameList(limits.seriesMetrics, metrics),
  };
}

/** What a summary takes of a sample: of `metrics` the numbers at the top level whose names are short. */
export interface SampleReadings {
  batteryPct: number | null;
  state: string | null;
  metrics: [name: string, reading: number][];
}

/** `metrics` is canonical JSON of an object. */
export function readingsOf(sample: {
  batteryPct: number | null;
  state: string | null;
  metrics: string;
}): SampleReadings {
  const { batteryPct, state } = sample;
  if (sample.metrics === '{}') return { batteryPct, state, metrics: [] };
  const members: Record<string, unknown> = JSON.parse(sample.metrics);
  const metrics: SampleReadings['metrics'] = [];
  for (const name of Object.keys(members)) {
    const value = members[name];
    if (typeof value === 'number' && isShort(name)) metrics.push([name, value]);
  }
  return { batteryPct, state, metrics };
}

/** By code points, of which each is one or two of what `length` counts. */
function isShort(name: string): boolean {
  const most = limits.seriesNameLength;
  return name.length <= most || (name.length <= 2 * most && [...name].length <= most);
}

/** The place of the battery among the numbers; a metric's is its number in `RollUpNames` and one. */
export const BATTERY = 0;
export const PLACES = 1 + limits.seriesMetrics;

/** Doubles of each place: count, min, max, sum. */
const WIDTH = 4;
const MIN = 1;
const MAX = 2;
const SUM = 3;

/** Of sums: in it no sum of fewer than 2^60 doubles leaves their range. */
const UNIT = 2 ** 60;

/**
 * What the samples of one interval say, by the numbers that its day gave to states and metrics. Tables of
 * numbers, because one request may count some thousand readings in each of many intervals.
 *
 * Counts, min and max are exact. A mean is in [min, max] and, in whatever order and parts its readings came
 * together, off by at most count × 2^-53 × max(|min|, |max|) + 2^-1014; of whole numbers whose sum is below
 * 2^53 it is the nearest double. (C.-P. Jeannerod, S. M. Rump, "Improved error bounds for inner products in
 * floating-point arithmetic", 2013; 2^-1014 is underflow in the unit of sums.)
 */
export class Aggregate {
  samples = 0;
  /** Samples by state. */
  readonly states = new Uint32Array(limits.seriesStates);
  readonly table = new Float64Array(PLACES * WIDTH);

  /** As if it were new, which costs several times as much. */
  clear(): void {
    this.samples = 0;
    this.states.fill(0);
    this.table.fill(0);
  }

  /** Counts one sample. */
  add({ batteryPct, state, places, readings }: NumberedReadings): void {
    this.samples += 1;
    if (batteryPct !== null) this.addReading(BATTERY, batteryPct);
    if (state !== undefined) this.addState(state, 1);
    for (let i = 0; i < places.length; i += 1) this.addReading(places[i] ?? 0, readings[i] ?? 0);
  }

  addReading(place: number, reading: number): void {
    this.addSum(place, 1, reading, reading, reading / UNIT);
  }

  addState(number: number, count: number): void {
    this.states[number] = (this.states[number] ?? 0) + count;
  }

  addSpread(place: number, { count, min, max, mean }: Spread): void {
    this.addSum(place, count, min, max, (mean / UNIT) * count);
  }

  /** Adds readings with such a sum, in units of 2^60. */
  addSum(place: number, count: number, min: number, max: number, sum: number): void {
    const { table } = this;
    const at = place * WIDTH;
    const before = table[at] ?? 0;
    table[at] = before + count;
    if (before === 0 || min < (table[at + MIN] ?? 0)) table[at + MIN] = min;
    if (before === 0 || max > (table[at + MAX] ?? 0)) table[at + MAX] = max;
    table[at + SUM] = (table[at + SUM] ?? 0) + sum;
  }

  count(place: number): number {
    return this.table[place * WIDTH] ?? 0;
  }

  min(place: number): number {
    return this.table[place * WIDTH + MIN] ?? 0;
  }

  max(place: number): number {
    return this.table[place * WIDTH + MAX] ?? 0;
  }

  /** In units of 2^60. */
  sum(place: number): number {
    return this.table[place * WIDTH + SUM] ?? 0;
  }

  /** Null where there was no reading. */
  spread(place: number): Spread | null {
    const count = this.count(place);
    if (count === 0) return null;
    const min = this.min(place);
    const max = this.max(place);
    const mean = (this.sum(place) / count) * UNIT;
    // Rounding must not push the mean of equal values away from them.
    return { count, min, max, mean: Math.min(max, Math.max(min, mean)) };
  }
}

/** A sample's readings whose names its day holds, by number and place. */
export interface NumberedReadings {
  batteryPct: number | null;
  state: number | undefined;
  places: number[];
  readings: number[];
}

/** Takes new names into the day, where it has room. */
export function numbered(names: RollUpNames, sample: SampleReadings): NumberedReadings {
  const { batteryPct, metrics } = sample;
  const state = sample.state === null ? undefined : names.states.take(sample.state);
  const places: number[] = [];
  const readings: number[] = [];
  for (const [name, reading] of metrics) {
    const number = names.metrics.take(name);
    if (number === undefined) continue;
    places.push(number + 1);
    readings.push(reading);
  }
  return { batteryPct, state, places, readings };
}

/** Whether the two may be of the same samples: each mean may be off by what `Aggregate` states. */
export function agree(a: Aggregate, b: Aggregate): boolean {
  return (
    a.samples === b.samples &&
    a.states.every((count, number) => count === b.states[number]) &&
    a.table.every((value, at) => at % WIDTH === SUM || value === b.table[at]) &&
    a.table.every((_, at) => at % WIDTH > 0 || haveOneMean(a, b, at / WIDTH))
  );
}

function haveOneMean(a: Aggregate, b: Aggregate, place: number): boolean {
  const one = a.spread(place);
  const other = b.spread(place);
  if (one === null || other === null) return one === other;
  const largest = Math.max(Math.abs(one.min), Math.abs(one.max));
  const error = one.count * 2 ** -53 * largest + 2 ** -1014;
  return Math.abs(one.mean - other.mean) <= 2 * error;
}

/** The tally by name. */
export function summaryOf(aggregate: Aggregate, { states, metrics }: StoredNames): SampleSummary {
  const summary: SampleSummary = {
    samples: aggregate.samples,
    battery: aggregate.spread(BATTERY),
    states: new Map(),
    metrics: new Map(),
  };
  for (const [number, state] of states.entries()) {
    const count = aggregate.states[number] ?? 0;
    if (count > 0) summary.states.set(state, count);
  }
  for (const [number, name] of metrics.entries()) {
    const spread = aggregate.spread(number + 1);
    if (spread !== null) summary.metrics.set(name, spread);
  }
  return summary;
}
