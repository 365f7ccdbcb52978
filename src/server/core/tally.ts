import { limits } from '../../protocol/limits.ts';
import type { DayNames, SampleReadings, StoredNames } from './day-names.ts';
import { type ExactSum, isSameSum, lostIn, rounded, withNumber } from './exact-sum.ts';
import type { SampleSummary, Spread } from './telemetry-store.ts';

/** The place of the battery among the numbers; a metric's is its number in `DayNames` and one. */
export const BATTERY = 0;
export const PLACES = 1 + limits.seriesMetrics;

/** Doubles of each place: count, min, max and the sum's parts, where these are at most two. */
export const WIDTH = 5;
const MIN = 1;
const MAX = 2;
const LOW = 3;
const HIGH = 4;

/**
 * Of sums: in it no sum of fewer than 2^59 doubles leaves their range. What a reading has below 2^-1014 is
 * rounded away, the same in any order.
 */
const UNIT = 2 ** 60;

/**
 * What the samples of one interval say, by the numbers that its day gave to states and metrics. Tables of
 * numbers, because one request may count some thousand readings in each of many intervals.
 */
export class Tally {
  samples = 0;
  /** Samples by state. */
  readonly states = new Uint32Array(limits.seriesStates);
  readonly table = new Float64Array(PLACES * WIDTH);
  /** Sums of more than two parts by place; they win over the table's. */
  readonly longSums = new Map<number, ExactSum>();

  /** As if it were new, which costs several times as much. */
  clear(): void {
    this.samples = 0;
    this.states.fill(0);
    this.table.fill(0);
    this.longSums.clear();
  }

  /** Counts one sample. */
  add({ batteryPct, state, places, readings }: NumberedReadings): void {
    this.samples += 1;
    if (batteryPct !== null) this.addReading(BATTERY, batteryPct);
    if (state !== undefined) this.addState(state, 1);
    for (const [i, place] of places.entries()) this.addReading(place, readings[i] ?? 0);
  }

  addReading(place: number, reading: number): void {
    this.#extend(place, 1, reading, reading);
    this.addToSum(place, reading / UNIT);
  }

  addState(number: number, count: number): void {
    this.states[number] = (this.states[number] ?? 0) + count;
  }

  /** The sum is as near as a double comes. */
  addSpread(place: number, { count, min, max, mean }: Spread): void {
    this.#extend(place, count, min, max);
    this.addToSum(place, (mean / UNIT) * count);
  }

  /** What `table` holds of a place. */
  row(place: number): Float64Array {
    return this.table.subarray(place * WIDTH, (place + 1) * WIDTH);
  }

  /** Adds such a row. */
  addRow(place: number, rows: Float64Array, at: number): void {
    this.#extend(place, rows[at] ?? 0, rows[at + MIN] ?? 0, rows[at + MAX] ?? 0);
    const low = rows[at + LOW] ?? 0;
    if (low !== 0) this.addToSum(place, low);
    this.addToSum(place, rows[at + HIGH] ?? 0);
  }

  /** `part` is in units of 2^60. */
  addToSum(place: number, part: number): void {
    const long = this.longSums.size === 0 ? undefined : this.longSums.get(place);
    if (long !== undefined) {
      this.longSums.set(place, withNumber(long, part));
      return;
    }
    const { table } = this;
    const at = place * WIDTH;
    const low = table[at + LOW] ?? 0;
    const high = table[at + HIGH] ?? 0;
    const lower = part + low;
    const higher = lower + high;
    const lost = lostIn(lower, part, low);
    const lostAbove = lostIn(higher, lower, high);
    const below = lost + lostAbove;
    if (lostIn(below, lost, lostAbove) === 0) {
      table[at + LOW] = below;
      table[at + HIGH] = higher;
    } else {
      table[at + LOW] = 0;
      table[at + HIGH] = 0;
      this.longSums.set(place, withNumber([lost, lostAbove], higher));
    }
  }

  count(place: number): number {
    return this.table[place * WIDTH] ?? 0;
  }

  min(place: number): number {
    return this.table[place * WIDTH + MIN] ?? 0;
  }

  /** In units of 2^60. */
  sum(place: number): ExactSum {
    const parts = [this.table[place * WIDTH + LOW] ?? 0, this.table[place * WIDTH + HIGH] ?? 0];
    return this.longSums.get(place) ?? parts.filter((part) => part !== 0);
  }

  /** Null where there was no reading. Rounding must not push the mean of equal values away from them. */
  spread(place: number): Spread | null {
    const count = this.count(place);
    if (count === 0) return null;
    const min = this.min(place);
    const max = this.table[place * WIDTH + MAX] ?? 0;
    const mean = (rounded(this.sum(place)) / count) * UNIT;
    return { count, min, max, mean: Math.min(max, Math.max(min, mean)) };
  }

  #extend(place: number, count: number, min: number, max: number): void {
    const { table } = this;
    const at = place * WIDTH;
    const before = table[at] ?? 0;
    table[at] = before + count;
    if (before === 0 || min < (table[at + MIN] ?? 0)) table[at + MIN] = min;
    if (before === 0 || max > (table[at + MAX] ?? 0)) table[at + MAX] = max;
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
export function numbered(names: DayNames, sample: SampleReadings): NumberedReadings {
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

export function isSameTally(a: Tally, b: Tally): boolean {
  const isSameNumber = (number: number, place: number) =>
    number === b.table[place] || place % WIDTH >= LOW;
  return (
    a.samples === b.samples &&
    a.states.every((count, number) => count === b.states[number]) &&
    a.table.every(isSameNumber) &&
    a.table.every((_, at) => at % WIDTH > 0 || isSameSum(a.sum(at / WIDTH), b.sum(at / WIDTH)))
  );
}

/** The tally by name. */
export function summaryOf(tally: Tally, { states, metrics }: StoredNames): SampleSummary {
  const summary: SampleSummary = {
    samples: tally.samples,
    battery: tally.spread(BATTERY),
    states: new Map(),
    metrics: new Map(),
  };
  for (const [number, state] of states.entries()) {
    const count = tally.states[number] ?? 0;
    if (count > 0) summary.states.set(state, count);
  }
  for (const [number, name] of metrics.entries()) {
    const spread = tally.spread(number + 1);
    if (spread !== null) summary.metrics.set(name, spread);
  }
  return summary;
}
