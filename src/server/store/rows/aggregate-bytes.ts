// Encodes aggregates as the bytes that both stores keep in `summary`.

import { limits } from '../../../protocol/limits.ts';
import { Aggregate, PLACES } from './aggregate.ts';

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
  const buffer = Buffer.allocUnsafe(size);
  const bytes = new Writer(buffer);
  bytes.u8(states.length);
  for (const number of states) {
    bytes.u8(number);
    bytes.u32(aggregate.states[number] ?? 0);
  }
  bytes.u8(ones.length);
  for (const place of ones) {
    bytes.u8(place);
    bytes.f64(aggregate.min(place));
  }
  bytes.u8(others.length);
  for (const place of others) {
    bytes.u8(place);
    bytes.f64(aggregate.count(place));
    bytes.f64(aggregate.min(place));
    bytes.f64(aggregate.max(place));
    bytes.f64(aggregate.sum(place));
  }
  return buffer;
}

/** Adds a stored aggregate to `aggregate`. @throws RangeError if the bytes are too short. */
export function addEncoded(aggregate: Aggregate, samples: number, buffer: Buffer): void {
  const bytes = new Reader(buffer);
  aggregate.samples += samples;
  for (let left = bytes.u8(); left > 0; left -= 1) aggregate.addState(bytes.u8(), bytes.u32());
  for (let left = bytes.u8(); left > 0; left -= 1) aggregate.addReading(bytes.u8(), bytes.f64());
  for (let left = bytes.u8(); left > 0; left -= 1) {
    aggregate.addSum(bytes.u8(), bytes.f64(), bytes.f64(), bytes.f64(), bytes.f64());
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

class Writer {
  readonly #view: DataView;
  #at = 0;

  constructor({ buffer, byteOffset, byteLength }: Buffer) {
    this.#view = new DataView(buffer, byteOffset, byteLength);
  }

  u8(value: number): void {
    this.#view.setUint8(this.#at, value);
    this.#at += 1;
  }

  u32(value: number): void {
    this.#view.setUint32(this.#at, value, true);
    this.#at += 4;
  }

  f64(value: number): void {
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }
}

/** @throws RangeError when a method reads beyond the end. */
class Reader {
  readonly #view: DataView;
  #at = 0;

  constructor({ buffer, byteOffset, byteLength }: Buffer) {
    this.#view = new DataView(buffer, byteOffset, byteLength);
  }

  u8(): number {
    const value = this.#view.getUint8(this.#at);
    this.#at += 1;
    return value;
  }

  u32(): number {
    const value = this.#view.getUint32(this.#at, true);
    this.#at += 4;
    return value;
  }

  f64(): number {
    const value = this.#view.getFloat64(this.#at, true);
    this.#at += 8;
    return value;
  }
}
