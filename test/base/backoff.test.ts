import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs } from '../../src/base/async/backoff.ts';

const range = { firstMs: 50, maxMs: 2_000 };

describe('backoffMs', () => {
  it('doubles up to the maximum', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 100].map((n) => backoffMs(n, range, () => 1));

    expect(waits).toEqual([50, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
  });

  it('is between half of that and all of it', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (n, r) => {
          const full = backoffMs(n, range, () => 1);
          const wait = backoffMs(n, range, () => r);
          expect(wait).toBeGreaterThanOrEqual(full / 2);
          expect(wait).toBeLessThanOrEqual(full);
        },
      ),
    );
  });
});
