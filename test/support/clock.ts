import type { Clock } from '../../src/base/clock.ts';

/** Wall time that a test moves. */
export interface TestClock extends Clock {
  advance(ms: number): void;
}

/** Starts at the beginning of a minute, so that a whole window lies ahead. */
export function createTestClock(start = Date.UTC(2026, 0, 15, 12, 0, 0)): TestClock {
  let now = start;
  return {
    now: () => now,
    advance(ms) {
      now += ms;
    },
  };
}
