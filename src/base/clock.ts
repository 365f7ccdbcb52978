// The wall clock, which tests replace.

/** Wall-clock time in milliseconds since the epoch. Tests replace it. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
