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
