import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ExactSum, isSameSum, rounded, withNumber } from '../../src/server/core/exact-sum.ts';

// Wide apart and yet without overflow.
const number = fc.double({ noNaN: true, min: -1e290, max: 1e290 });
const numbers = fc.array(number, { maxLength: 40 });

const sumOf = (values: number[]): ExactSum => values.reduce(withNumber, []);

/** Every double is a multiple of 2^-1074. */
function inSmallestUnits(value: number): bigint {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const exponent = (bits.getUint16(0) >> 4) & 0x7ff;
  const fraction = bits.getBigUint64(0) & 0xfffffffffffffn;
  const significand = exponent === 0 ? fraction : fraction | 0x10000000000000n;
  const size = significand << BigInt(Math.max(exponent, 1) - 1);
  return value < 0 ? -size : size;
}

const exactly = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + inSmallestUnits(value), 0n);

it('loses nothing, whatever the magnitudes', () => {
  fc.assert(
    fc.property(numbers, (values) => {
      expect(exactly(sumOf(values))).toBe(exactly(values));
    }),
  );
});

it('is the same sum in any order, and another one with another number in it', () => {
  fc.assert(
    fc.property(numbers, number, (values, other) => {
      const sum = sumOf(values);
      expect(isSameSum(sum, sumOf(values.toReversed()))).toBe(true);
      expect(isSameSum(sum, withNumber(sum, other))).toBe(other === 0);
    }),
  );
});

it('is rounded to the nearest double', () => {
  fc.assert(
    fc.property(numbers, (values) => {
      const exact = exactly(values);
      const nearest = rounded(sumOf(values));
      const distance = (double: number) => {
        const apart = inSmallestUnits(double) - exact;
        return apart < 0n ? -apart : apart;
      };
      for (const neighbour of neighboursOf(nearest)) {
        expect(distance(nearest) <= distance(neighbour)).toBe(true);
      }
    }),
  );
});

it.each([
  [[1e16, 1, 1], 1e16 + 2],
  [[1e16, 1, 1e-16], 10_000_000_000_000_002],
  [[1e16, 1, -1e-16], 1e16],
  [[1e308, -1e308, 1], 1],
  [[0.1, 0.2, -0.3], 2 ** -55],
  [[], 0],
])('of %j is %d', (values, expected) => {
  expect(rounded(sumOf(values))).toBe(expected);
});

function neighboursOf(value: number): number[] {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const pattern = bits.getBigInt64(0);
  return [pattern - 1n, pattern + 1n].map((neighbour) => {
    bits.setBigInt64(0, neighbour);
    return bits.getFloat64(0);
  });
}
