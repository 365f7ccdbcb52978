import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayNames, noNames, type SampleReadings } from '../../src/server/core/day-names.ts';
import { isSameTally, numbered, summaryOf, Tally } from '../../src/server/core/tally.ts';
import { addEncoded, decodeTally, encodeTally } from '../../src/server/core/tally-bytes.ts';

const reading = fc.double({ noNaN: true, noDefaultInfinity: true });
const sample = fc.record({
  batteryPct: fc.option(fc.double({ min: 0, max: 100, noNaN: true })),
  state: fc.option(fc.constantFrom('idle', 'busy', '__proto__')),
  metrics: fc.array(fc.tuple(fc.constantFrom('a', 'b', 'constructor'), reading), { maxLength: 5 }),
});
function tallyOf(samples: SampleReadings[], names = dayNames(noNames)): Tally {
  const tally = new Tally();
  for (const one of samples) tally.add(numbered(names, one));
  return tally;
}

describe('a tally', () => {
  it('comes back from its bytes', () => {
    fc.assert(
      fc.property(fc.array(sample), (samples) => {
        const tally = tallyOf(samples);

        const back = decodeTally(tally.samples, encodeTally(tally));

        expect(isSameTally(back, tally)).toBe(true);
      }),
    );
  });

  it('is the same however its samples came together', () => {
    fc.assert(
      fc.property(fc.array(sample), fc.array(sample), (first, second) => {
        const names = dayNames(noNames);
        const all = tallyOf([...first, ...second], names);
        const parts = [second, first].map((samples) => tallyOf(samples, names));

        const [merged = new Tally(), other = new Tally()] = parts.map((part) =>
          decodeTally(part.samples, encodeTally(part)),
        );
        const together = decodeTally(merged.samples, encodeTally(merged));
        addTo(together, other);

        expect(isSameTally(together, all)).toBe(true);
        const held = { states: names.states.names, metrics: names.metrics.names };
        expect(summaryOf(together, held)).toEqual(summaryOf(all, held));
      }),
    );
  });

  it('tells a reading that differs in its last bit', () => {
    const one = (value: number) =>
      tallyOf(
        [0.1, 0.2, value].map((t) => ({ batteryPct: null, state: null, metrics: [['t', t]] })),
      );

    expect(isSameTally(one(0.15), one(0.15000000000000002))).toBe(false);
  });

  it('keeps the mean of equal numbers, and of the largest there are', () => {
    for (const value of [0.1, Number.MAX_VALUE, Number.MIN_VALUE, 0]) {
      const samples = Array.from({ length: 7 }, () => value);
      const tally = tallyOf(
        samples.map((t) => ({ batteryPct: null, state: null, metrics: [['t', t]] })),
      );
      expect(tally.spread(1)?.mean).toBe(value);
    }
  });

  it('is refused when its bytes end too early', () => {
    const bytes = encodeTally(tallyOf([{ batteryPct: 5, state: 'idle', metrics: [['a', 1]] }]));

    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => decodeTally(1, bytes.subarray(0, length))).toThrow(RangeError);
    }
  });
});

function addTo(tally: Tally, other: Tally): void {
  addEncoded(tally, other.samples, encodeTally(other));
}
