import { formatTimestamp, parseTimestamp } from '../../protocol/timestamp.ts';
import type { Instant } from '../clock.ts';
import type { SpoolRecord } from '../spool/records.ts';
import type { AgentState } from '../spool/state.ts';

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

/** No robot of this software ran before. */
const EARLIEST_MS = Date.UTC(2025, 0, 1);

/**
 * Fixes what the monotonic clocks meant, once for each boot and before anything of it is sent. Of this boot the service's
 * clock tells; of an earlier one that never reached the service its own wall clock does, if that lies between
 * what was known before it and now; else it is taken to have ended when the boot after it began.
 */
export function fixBootEpochs(state: AgentState, now: Instant, serverMs: number): void {
  const known = state.epochOf(now.boot);
  const epochMs = known ?? serverMs - now.monoMs;
  if (known === null) state.keepEpoch(now.boot, epochMs);
  let beginningOfNext = epochMs;
  for (const first of state.bootsWithoutEpoch()) {
    if (first.boot === now.boot) continue;
    // The clock may have been set in the meantime: its last word counts.
    const last = state.lastSampleOf(first.boot) ?? first;
    const earliest = Math.max(EARLIEST_MS, state.lastContactMs() ?? 0) - TOLERANCE_MS;
    const plausible = last.wallMs >= earliest && last.wallMs <= beginningOfNext;
    const end = plausible ? last.wallMs : beginningOfNext;
    state.keepEpoch(first.boot, end - last.monoMs);
    beginningOfNext = end - last.monoMs;
  }
  state.keepLastContact(serverMs);
}

export function occurredAt(
  given: string | undefined,
  record: SpoolRecord,
  epochMs: number | null,
): string {
  const time = givenOrOwn(given, record, epochMs);
  return given !== undefined && !time.corrected ? given : formatTimestamp(time.ms);
}

export function givenOrOwn(
  given: string | undefined,
  record: SpoolRecord,
  epochMs: number | null,
): CorrectedTime {
  const time = timeOf(record, epochMs);
  const givenMs = given === undefined ? null : parseTimestamp(given);
  return givenMs === null ? time : givenTime(givenMs, record, time);
}
