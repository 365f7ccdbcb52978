import { limits } from '../../protocol/limits.ts';
import { PLACES, Tally, WIDTH } from './tally.ts';

/*
 * A tally as a store keeps it, beside its count of samples. Little-endian:
 *
 *   u8 states, { u8 number, u32 count }
 *   u8 places of one reading, { u8 place }, for each of them { f64 reading }
 *   u8 other places, { u8 place }, for each of them { f64 count, f64 min, f64 max, f64 sum }
 *
 * Numbers and places are those of `Tally`; sums are in units of 2^60.
 */

export function encodeTally(tally: Tally): Buffer {
  const states = numbersWhere(limits.seriesStates, (number) => tally.states[number] !== 0);
  const ones = numbersWhere(PLACES, (place) => tally.count(place) === 1);
  const others = numbersWhere(PLACES, (place) => tally.count(place) > 1);
  const rows = new Float64Array(others.length * WIDTH);
  for (const [i, place] of others.entries()) rows.set(tally.row(place), i * WIDTH);
  return Buffer.concat([
    Buffer.of(states.length),
    ...states.map((number) => stateBytes(number, tally.states[number] ?? 0)),
    Buffer.of(ones.length, ...ones),
    Buffer.from(Float64Array.from(ones, (place) => tally.min(place)).buffer),
    Buffer.of(others.length, ...others),
    Buffer.from(rows.buffer),
  ]);
}

/** Adds what the bytes hold to the tally. Throws `RangeError` where they are no tally. */
export function addEncoded(tally: Tally, samples: number, buffer: Buffer): void {
  const bytes = new Reader(buffer);
  tally.samples += samples;
  for (let left = bytes.u8(); left > 0; left -= 1) tally.addState(bytes.u8(), bytes.u32());
  const ones = bytes.bytes(bytes.u8());
  const readings = bytes.doubles(ones.length);
  for (const [i, place] of ones.entries()) tally.addReading(place, readings[i] ?? 0);
  const others = bytes.bytes(bytes.u8());
  const rows = bytes.doubles(others.length * WIDTH);
  for (const [i, place] of others.entries()) tally.addRow(place, rows, i * WIDTH);
}

export function decodeTally(samples: number, bytes: Buffer): Tally {
  const tally = new Tally();
  addEncoded(tally, samples, bytes);
  return tally;
}

function numbersWhere(end: number, holds: (number: number) => boolean): number[] {
  const found: number[] = [];
  for (let number = 0; number < end; number += 1) if (holds(number)) found.push(number);
  return found;
}

function stateBytes(number: number, count: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt8(number);
  bytes.writeUInt32LE(count, 1);
  return bytes;
}

class Reader {
  readonly #buffer: Buffer;
  #at = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  u8(): number {
    return this.#buffer.readUInt8(this.#skip(1));
  }

  u32(): number {
    return this.#buffer.readUInt32LE(this.#skip(4));
  }

  bytes(count: number): Buffer {
    const at = this.#skip(count);
    return this.#buffer.subarray(at, at + count);
  }

  /** A copy, because bytes from a store begin anywhere and doubles do not. */
  doubles(count: number): Float64Array {
    const doubles = new Float64Array(count);
    const copied = this.#buffer.copy(Buffer.from(doubles.buffer), 0, this.#skip(count * 8));
    if (copied < doubles.byteLength) throw new RangeError('The tally ends too early');
    return doubles;
  }

  /** Answers where it was. */
  #skip(count: number): number {
    const at = this.#at;
    this.#at += count;
    return at;
  }
}
