import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RateBudget } from '../../src/agent/uploads/rate-budget.ts';
import { PAUSES, retryMs } from '../../src/agent/uploads/retry.ts';

const headers = (limit: number, remaining: number) =>
  new Headers({ 'x-ratelimit-limit': String(limit), 'x-ratelimit-remaining': String(remaining) });

/** Calls that are made from `from` on for a minute, each as soon as it may be. */
function callsInMinute(rate: RateBudget, from: number): number {
  let calls = 0;
  for (let now = from; now < from + 60_000; ) {
    const wait = rate.waitMs(now);
    if (wait === 0) {
      rate.take(now);
      calls += 1;
    } else {
      now += Math.max(wait, 0.01);
    }
  }
  return calls;
}

describe('the rate', () => {
  it('is at least 90 % of the limit, and never above it', () => {
    const rate = new RateBudget();

    const calls = callsInMinute(rate, performance.now());

    expect(calls).toBeGreaterThanOrEqual(540);
    expect(calls).toBeLessThanOrEqual(600);
  });

  it('follows the limit that the service reports', () => {
    const rate = new RateBudget();
    rate.learn(headers(60, 50), Date.now());

    const calls = callsInMinute(rate, performance.now() + 60_000);

    expect(calls).toBeLessThanOrEqual(68);
    expect(calls).toBeGreaterThanOrEqual(54);
  });

  it('waits for the next minute of the service when the window is nearly exhausted', () => {
    const rate = new RateBudget();
    const now = performance.now();
    rate.learn(headers(600, 2), Date.UTC(2026, 0, 1, 12, 0, 45), now);

    expect(rate.waitMs(now)).toBeCloseTo(15_000, -2);
    expect(rate.waitMs(now + 15_001)).toBe(0);
  });
});

describe('a retry', () => {
  it('waits a random part of a time that doubles from 1 s to 15 min', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (n, part) => {
          const full = Math.min(1000 * 2 ** (n - 1), 15 * 60_000);
          expect(retryMs(n, PAUSES.usual, () => part)).toBeCloseTo(part * full, 3);
        },
      ),
    );
  });
});
