// Decodes roll-ups that were stored before schema 3, for its migration.

import type { Spread } from '../../ports/telemetry.ts';
import type { StoredSummary } from './roll-ups.ts';

/** The unit of sums: a reading of 2^60 counts as 1. */
const UNIT = 2 ** 60;

/**
 * Little-endian; a place is 0 for the battery, and the number of a metric plus 1. Names are numbered in `names`, JSON
 * of the robot's day:
 *
 *   u8 states, for each of them { u8 number, u32 count }
 *   u8 places of one reading, for each of them { u8 place, f64 reading }
 *   u8 other places, for each of them { u8 place, f64 count, f64 min, f64 max, f64 sum }
 *
 * @throws RangeError if the bytes end too early.
 */
export function decodeSummary(bytes: Buffer, names: string | null): Omit<StoredSummary, 'samples'> {
  const known = JSON.parse(names ?? '{"states":[],"metrics":[]}');
  let at = 0;
  const byte = () => bytes.readUInt8(at++);
  const double = () => {
    at += 8;
    return bytes.readDoubleLE(at - 8);
  };
  const counts = new Map<number, number>();
  for (let left = byte(); left > 0; left -= 1, at += 4) counts.set(byte(), bytes.readUInt32LE(at));
  const spreads = new Map<number, Spread>();
  for (let left = byte(); left > 0; left -= 1) {
    const [place, reading] = [byte(), double()];
    spreads.set(place, [1, reading, reading, reading]);
  }
  for (let left = byte(); left > 0; left -= 1) {
    const [place, count, min, max, sum] = [byte(), double(), double(), double(), double()];
    const most = Number.MAX_VALUE / UNIT;
    spreads.set(place, [count, min, max, Math.max(-most, Math.min(most, sum)) * UNIT]);
  }
  const battery = spreads.get(0);
  // JSON leaves out the names without readings.
  const named = (list: string[], found: (number: number) => unknown) =>
    JSON.stringify(Object.fromEntries(list.map((name, number) => [name, found(number)])));
  return {
    battery: battery === undefined ? null : JSON.stringify(battery),
    states: named(known.states, (number) => counts.get(number)),
    metrics: named(known.metrics, (number) => spreads.get(number + 1)),
  };
}
