import type { Instant } from '../spool/records.ts';

/** A wall clock that is off by less is taken at its word. */
export const TOLERANCE_MS = 60_000;

export interface CorrectedTime {
  readonly ms: number;
  /** Whether the wall clock was wrong. */
  readonly corrected: boolean;
}

/**
 * When it happened: by the wall clock, unless that was off by more than a minute; then by the monotonic clock
 * of its boot. `epochMs`: the service's time when that clock was 0; null where it is not known.
 */
export function timeOf({ wallMs, monoMs }: Instant, epochMs: number | null): CorrectedTime {
  if (epochMs === null) return { ms: wallMs, corrected: false };
  const ms = epochMs + monoMs;
  return Math.abs(ms - wallMs) <= TOLERANCE_MS
    ? { ms: wallMs, corrected: false }
    : { ms, corrected: true };
}

/**
 * A time that a program of the same machine gave along: moved as the wall clock is, where it was read from that,
 * which it was if it is nearer to the wrong time than to the right one.
 */
export function givenTime(givenMs: number, instant: Instant, time: CorrectedTime): CorrectedTime {
  const ofWrongClock = Math.abs(givenMs - instant.wallMs) < Math.abs(givenMs - time.ms);
  return time.corrected && ofWrongClock
    ? { ms: givenMs + time.ms - instant.wallMs, corrected: true }
    : { ms: givenMs, corrected: false };
}
