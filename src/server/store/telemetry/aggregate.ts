// Aggregates telemetry samples: counts of states; count, min, max and mean of numbers. Encodes aggregates as bytes.
import { limits } from '../../../protocol/limits.ts';
import type { SampleRecord, SampleSummary, Spread } from '../../ports/telemetry.ts';

/** Names in the order of their first use, up to a limit. Each has a number, counted from 0. */
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

  /** The number of the name. Adds a new name if there is room; otherwise answers `undefined`. */
  take(name: string): number | undefined {
    const known = this.#numbers.get(name);
    if (known !== undefined || this.size >= this.#limit) return known;
    this.#numbers.set(name, this.size);
    return this.size - 1;
  }
}

/**
 * The states and metrics of one robot's day (UTC) that get a series: the first `limits.seriesStates` and
 * `limits.seriesMetrics`. A name keeps its number for the day, so its series counts all its readings of the day.
 */
export interface RollUpNames {
  states: NameList;
  metrics: NameList;
}

/** The stored names of a day; the index is the number. */
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

/** The readings of a sample that are aggregated. `metrics` has the top-level numbers whose names are short enough. */
export interface SampleReadings {
  batteryPct: number | null;
  state: string | null;
  metrics: [name: string, reading: number][];
}

/** Parses `metrics`, which is the canonical JSON of an object. */
export function readingsOf(
  sample: Pick<SampleRecord, 'batteryPct' | 'state' | 'metrics'>,
): SampleReadings {
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

/** The place of the battery in the table. The place of a metric is its number in `RollUpNames` plus 1. */
export const BATTERY = 0;
export const PLACES = 1 + limits.seriesMetrics;

/** Doubles per place: count, min, max, sum. */
const WIDTH = 4;
const MIN = 1;
const MAX = 2;
const SUM = 3;

/** The unit of sums: the sum of fewer than 2^60 doubles cannot overflow. */
const UNIT = 2 ** 60;

/**
 * The aggregate of the samples of one interval, by the numbers of its day's states and metrics. It uses typed arrays,
 * because one request may count some thousand readings in each of many intervals.
 *
 * Counts, min and max are exact. A mean is in [min, max]. Its error is at most
 * count × 2^-53 × max(|min|, |max|) + 2^-1014, in whatever order and parts the readings were added. For whole numbers
 * whose sum is below 2^53, the mean is the nearest double. (C.-P. Jeannerod, S. M. Rump, "Improved error bounds for
 * inner products in floating-point arithmetic", 2013; 2^-1014 is underflow in the unit of sums.)
 */
export class Aggregate {
  samples = 0;
  /** Counts of samples, by the number of their state. */
  readonly states = new Uint32Array(limits.seriesStates);
  readonly table = new Float64Array(PLACES * WIDTH);

  /** Resets the aggregate for reuse. A new one costs several times as much. */
  clear(): void {
    this.samples = 0;
    this.states.fill(0);
    this.table.fill(0);
  }

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

  /** Adds `count` readings at once. `sum` is in units of 2^60. */
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

  /** `null` if there was no reading. */
  spread(place: number): Spread | null {
    const count = this.count(place);
    if (count === 0) return null;
    const min = this.min(place);
    const max = this.max(place);
    const mean = (this.sum(place) / count) * UNIT;
    // Rounding could otherwise move the mean of equal values away from them.
    return { count, min, max, mean: Math.min(max, Math.max(min, mean)) };
  }
}

/** The readings of a sample whose names have a number in its day, by number and place. */
interface NumberedReadings {
  batteryPct: number | null;
  state: number | undefined;
  places: number[];
  readings: number[];
}

/** Replaces names by numbers. Adds new names to `names` while there is room, and drops the readings of others. */
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

/** Whether both can be aggregates of the same samples, given the error of a mean that `Aggregate` states. */
export function agree(a: Aggregate, b: Aggregate): boolean {
  return (
    a.samples === b.samples &&
    a.states.every((count, number) => count === b.states[number]) &&
    a.table.every((value, at) => at % WIDTH === SUM || value === b.table[at]) &&
    a.table.every((_, at) => at % WIDTH > 0 || haveOneMean(a, b, at / WIDTH))
  );
}

/** The aggregate with the names of its day instead of numbers. */
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

function haveOneMean(a: Aggregate, b: Aggregate, place: number): boolean {
  const one = a.spread(place);
  const other = b.spread(place);
  if (one === null || other === null) return one === other;
  const largest = Math.max(Math.abs(one.min), Math.abs(one.max));
  const error = one.count * 2 ** -53 * largest + 2 ** -1014;
  return Math.abs(one.mean - other.mean) <= 2 * error;
}

/** Compares code points with the limit. A code point is one or two UTF-16 units, which is what `length` counts. */
function isShort(name: string): boolean {
  const most = limits.seriesNameLength;
  return name.length <= most || (name.length <= 2 * most && [...name].length <= most);
}

/*
 * The stored form of an aggregate. Its count of samples is in a column of its own. Little-endian:
 *
 *   u8 states, for each of them { u8 number, u32 count }
 *   u8 places of one reading, for each of them { u8 place, f64 reading }
 *   u8 other places, for each of them { u8 place, f64 count, f64 min, f64 max, f64 sum }
 *
 * Numbers and places are those of `Aggregate`. Sums are in units of 2^60.
 */

const STATE_BYTES = 5;
const ONE_BYTES = 9;
const OTHER_BYTES = 33;

export function encodeAggregate(aggregate: Aggregate): Buffer {
  const states = numbersWhere(limits.seriesStates, (number) => aggregate.states[number] !== 0);
  const ones = numbersWhere(PLACES, (place) => aggregate.count(place) === 1);
  const others = numbersWhere(PLACES, (place) => aggregate.count(place) > 1);
  const size =
    3 + states.length * STATE_BYTES + ones.length * ONE_BYTES + others.length * OTHER_BYTES;
  const bytes = Buffer.allocUnsafe(size);
  let at = bytes.writeUInt8(states.length);
  for (const number of states) {
    at = bytes.writeUInt8(number, at);
    at = bytes.writeUInt32LE(aggregate.states[number] ?? 0, at);
  }
  at = bytes.writeUInt8(ones.length, at);
  for (const place of ones) {
    at = bytes.writeUInt8(place, at);
    at = bytes.writeDoubleLE(aggregate.min(place), at);
  }
  at = bytes.writeUInt8(others.length, at);
  for (const place of others) {
    at = bytes.writeUInt8(place, at);
    at = bytes.writeDoubleLE(aggregate.count(place), at);
    at = bytes.writeDoubleLE(aggregate.min(place), at);
    at = bytes.writeDoubleLE(aggregate.max(place), at);
    at = bytes.writeDoubleLE(aggregate.sum(place), at);
  }
  return bytes;
}

/** Adds a stored aggregate to `aggregate`. @throws RangeError if the bytes are too short. */
export function addEncoded(aggregate: Aggregate, samples: number, bytes: Buffer): void {
  aggregate.samples += samples;
  let at = 0;
  for (let left = bytes.readUInt8(at++); left > 0; left -= 1, at += STATE_BYTES) {
    aggregate.addState(bytes.readUInt8(at), bytes.readUInt32LE(at + 1));
  }
  for (let left = bytes.readUInt8(at++); left > 0; left -= 1, at += ONE_BYTES) {
    aggregate.addReading(bytes.readUInt8(at), bytes.readDoubleLE(at + 1));
  }
  for (let left = bytes.readUInt8(at++); left > 0; left -= 1, at += OTHER_BYTES) {
    const [count, min] = [bytes.readDoubleLE(at + 1), bytes.readDoubleLE(at + 9)];
    const [max, sum] = [bytes.readDoubleLE(at + 17), bytes.readDoubleLE(at + 25)];
    aggregate.addSum(bytes.readUInt8(at), count, min, max, sum);
  }
}

export function decodeAggregate(samples: number, bytes: Buffer): Aggregate {
  const aggregate = new Aggregate();
  addEncoded(aggregate, samples, bytes);
  return aggregate;
}

function numbersWhere(end: number, holds: (number: number) => boolean): number[] {
  const found: number[] = [];
  for (let number = 0; number < end; number += 1) if (holds(number)) found.push(number);
  return found;
}
