import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import type { SampleRecord, Spread } from '../../src/server/ports/telemetry.ts';
import {
  readSummary,
  type StoredSummary,
  storedWith,
  summarize,
} from '../../src/server/store/telemetry/roll-ups.ts';
import { decodeSummary } from '../../src/server/store/telemetry/roll-ups-002.ts';
import { isMeanOf } from '../support/exact-mean.ts';
import { oldRollup } from '../support/roll-ups-002.ts';

const reading = fc.oneof(
  fc.double({ noNaN: true, min: -1e300, max: 1e300 }),
  // Close to each other, so that what rounding takes adds up.
  fc.double({ noNaN: true, min: 0.1, max: 0.2 }),
  fc.constantFrom(Number.MIN_VALUE, 2 ** -1022, 0),
);

function sample(metrics: Record<string, number>, state: string | null = null): SampleRecord {
  return { id: '', recordedAt: 0, batteryPct: null, state, metrics: JSON.stringify(metrics) };
}

/** What is stored of the minute of these samples, which arrive in groups. */
function stored(groups: readonly SampleRecord[][]): StoredSummary | null {
  return groups.reduce<StoredSummary | null>((before, samples) => {
    const [minute] = summarize(samples);
    return minute ? storedWith(before, minute.summary) : null;
  }, null);
}

/** The spread of the readings, added and stored in these groups. */
function spreadOf(groups: readonly number[][]): Spread | undefined {
  const found = stored(groups.map((group) => group.map((t) => sample({ t }))));
  return found === null ? undefined : readSummary(found).metrics.get('t');
}

describe('a roll-up', () => {
  it('has the count, min and max, and the mean but for rounding, in any grouping', () => {
    const groups = fc.array(fc.array(reading, { minLength: 1, maxLength: 6 }), { minLength: 1 });
    fc.assert(
      fc.property(groups, (values) => {
        const [count = 0, min, max, sum = 0] = spreadOf(values) ?? [];

        const all = values.flat().map((value) => value + 0);
        expect([count, min, max]).toEqual([all.length, Math.min(...all), Math.max(...all)]);
        expect(isMeanOf(all, sum / count)).toBe(true);
      }),
    );
  });

  it('has the exact sum of whole numbers', () => {
    const level = fc.integer({ min: -1e6, max: 1e6 });
    fc.assert(
      fc.property(fc.array(level, { minLength: 1 }), (levels) => {
        const spread = spreadOf(levels.map((value) => [value]));

        expect(spread?.[3]).toBe(levels.reduce((total, value) => total + value, 0));
      }),
    );
  });

  it.each([1, -1])('keeps a sum finite (%d)', (sign) => {
    const largest = sign * Number.MAX_VALUE;

    expect(spreadOf([[largest, largest], [largest]])).toEqual([3, largest, largest, largest]);
  });

  it('has room for a limited number of states and metrics, those that come first', () => {
    const names = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, i) => `${prefix}${i}`);
    const states = names('s', limits.seriesStates + 1);
    const metrics = names('m', limits.seriesMetrics + 1);
    const all = Object.fromEntries(metrics.map((name) => [name, 1]));
    const samples = states.map((state) => sample(all, state));

    const summary = readSummary(stored([samples, samples]) as StoredSummary);

    expect(summary.samples).toBe(2 * samples.length);
    expect([...summary.states]).toEqual(states.slice(0, -1).map((state) => [state, 2]));
    expect([...summary.metrics.keys()]).toEqual(metrics.slice(0, -1));
  });
});

describe('a roll-up of schema 2', () => {
  it('is decoded', () => {
    const { bytes, names, decoded } = oldRollup;

    expect(decodeSummary(bytes, names)).toEqual(decoded);
  });

  it('without readings is decoded without names', () => {
    expect(decodeSummary(Buffer.alloc(3), null)).toEqual({
      battery: null,
      states: '{}',
      metrics: '{}',
    });
  });

  it('has a finite sum', () => {
    const bytes = Buffer.alloc(3 + 33);
    bytes[2] = 1;
    [2, Number.MAX_VALUE, Number.MAX_VALUE, 2 ** 965].forEach((value, i) => {
      bytes.writeDoubleLE(value, 4 + 8 * i);
    });

    const most = Number.MAX_VALUE;
    expect(JSON.parse(decodeSummary(bytes, null).battery ?? '')).toEqual([2, most, most, most]);
  });

  it('is refused when its bytes end too early', () => {
    const { bytes, names } = oldRollup;

    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => decodeSummary(bytes.subarray(0, length), names)).toThrow(RangeError);
    }
  });
});
