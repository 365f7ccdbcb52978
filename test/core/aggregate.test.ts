import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  Aggregate,
  addEncoded,
  agree,
  BATTERY,
  decodeAggregate,
  encodeAggregate,
  noNames,
  numbered,
  rollUpNames,
  type SampleReadings,
} from '../../src/server/store/telemetry/aggregate.ts';
import { isMeanOf } from '../support/exact-mean.ts';

const reading = fc.oneof(
  // Adding 0 makes -0 a 0, which equals it and is another value to a test.
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  // Close to each other, so that what rounding takes adds up.
  fc.double({ noNaN: true, min: 0.1, max: 0.2 }),
  fc.constantFrom(Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, 2 ** -1022, 0),
);
const sample = fc.record({
  batteryPct: fc.option(fc.double({ min: 0, max: 100, noNaN: true })),
  state: fc.option(fc.constantFrom('idle', 'busy', '__proto__')),
  metrics: fc.array(fc.tuple(fc.constantFrom('a', 'b', 'constructor'), reading), { maxLength: 5 }),
});
const merges = fc.infiniteStream(fc.nat());

function aggregateOf(samples: SampleReadings[], names = rollUpNames(noNames)): Aggregate {
  const aggregate = new Aggregate();
  for (const one of samples) aggregate.add(numbered(names, one));
  return aggregate;
}

/** Of one metric, at the first place after the battery. */
function aggregateOfReadings(readings: number[]): Aggregate {
  return aggregateOf(readings.map((t) => ({ batteryPct: null, state: null, metrics: [['t', t]] })));
}

/** Any two of them put together, until one is left. */
function merged(aggregates: Aggregate[], order: fc.Stream<number>): Aggregate {
  const left = [...aggregates];
  while (left.length > 1) {
    const [one = new Aggregate()] = left.splice(taken(order) % left.length, 1);
    const other = left[taken(order) % left.length] ?? new Aggregate();
    addEncoded(other, one.samples, encodeAggregate(one));
  }
  return left[0] ?? new Aggregate();
}

function taken(numbers: fc.Stream<number>): number {
  return numbers.next().value ?? 0;
}

describe('an aggregate', () => {
  it('is restored from its bytes', () => {
    fc.assert(
      fc.property(fc.array(sample), (samples) => {
        const aggregate = aggregateOf(samples);

        const back = decodeAggregate(aggregate.samples, encodeAggregate(aggregate));

        expect(back).toEqual(aggregate);
      }),
    );
  });

  it('agrees with another of the same samples, however they were grouped', () => {
    fc.assert(
      fc.property(fc.array(fc.array(sample, { maxLength: 4 })), merges, (parts, order) => {
        const names = rollUpNames(noNames);
        const all = aggregateOf(parts.flat(), names);

        const together = merged(
          parts.map((samples) => aggregateOf(samples, names)),
          order,
        );

        expect(agree(together, all)).toBe(true);
      }),
    );
  });

  it('has the mean within the error it states, and in the range, in any grouping', () => {
    const readings = fc.array(reading, { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(readings, merges, (values, order) => {
        const parts = values.map((value) => aggregateOfReadings([value]));

        const spread = merged(parts, order).spread(BATTERY + 1);

        const { count, min, max, mean = Number.NaN } = spread ?? {};
        expect({ count, min, max }).toEqual({
          count: values.length,
          min: Math.min(...values),
          max: Math.max(...values),
        });
        expect(isMeanOf(values, mean)).toBe(true);
        expect(mean >= Math.min(...values) && mean <= Math.max(...values)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('does not agree with one whose reading differs in its last bit', () => {
    const one = aggregateOfReadings([0.15]);

    expect(agree(one, aggregateOfReadings([0.15000000000000002]))).toBe(false);
  });

  it('does not agree with one whose mean differs by more than rounding explains', () => {
    const one = aggregateOfReadings([0, 0.5, 1]);

    expect(agree(one, aggregateOfReadings([0, 0.5 + 1e-14, 1]))).toBe(false);
    expect(agree(one, aggregateOfReadings([1, 0, 0.5]))).toBe(true);
  });

  it('has the mean of whole numbers to the last bit, in any grouping', () => {
    const level = fc.integer({ min: -1e6, max: 1e6 });
    fc.assert(
      fc.property(fc.array(level, { minLength: 1 }), merges, (levels, order) => {
        const parts = levels.map((value) => aggregateOfReadings([value]));

        const spread = merged(parts, order).spread(BATTERY + 1);

        const sum = levels.reduce((total, value) => total + value, 0);
        expect(spread?.mean).toBe(sum / levels.length);
      }),
    );
  });

  it('keeps the mean of equal numbers and of the largest numbers', () => {
    for (const value of [0.1, Number.MAX_VALUE, Number.MIN_VALUE, 0]) {
      const aggregate = aggregateOfReadings(Array.from({ length: 7 }, () => value));

      expect(aggregate.spread(BATTERY + 1)?.mean).toBe(value);
    }
  });

  it('is refused when its bytes end too early', () => {
    const bytes = encodeAggregate(
      aggregateOf([{ batteryPct: 5, state: 'idle', metrics: [['a', 1]] }]),
    );

    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => decodeAggregate(1, bytes.subarray(0, length))).toThrow(RangeError);
    }
  });
});
