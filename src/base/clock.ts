// The wall clock, which tests replace.
/** Wall time in milliseconds since the epoch; replaced in tests that move time. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
