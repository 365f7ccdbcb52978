// The clock that the service decides by, which tests replace.

/** Time in milliseconds since the epoch. */
export interface Clock {
  now(): number;
  /** Whether the wall clock of the machine contradicts `now`. False if left out. */
  readonly isImplausible?: boolean;
}

/** The wall clock of the machine. */
export const systemClock: Clock = { now: () => Date.now() };
