// Corrects the times of records whose wall clock was wrong.
import type { Body } from '../../protocol/routes.ts';
import { formatTimestamp, parseTimestamp } from '../../protocol/timestamp.ts';
import type { Instant } from '../clock.ts';
import type { SpoolRecord } from './records.ts';
import type { AgentState } from './state.ts';

/** Largest error of the wall clock that is not corrected. */
const TOLERANCE_MS = 60_000;

interface CorrectedTime {
  readonly ms: number;
  /** Whether the wall clock was wrong. */
  readonly corrected: boolean;
}

/**
 * The time of a record: by the wall clock, or by the monotonic clock if the wall clock was off by more than a
 * minute. `epochMs`: the service's time when the monotonic clock was 0; null if unknown.
 */
export function timeOf({ wallMs, monoMs }: Instant, epochMs: number | null): CorrectedTime {
  if (epochMs === null) return { ms: wallMs, corrected: false };
  const ms = epochMs + monoMs;
  return Math.abs(ms - wallMs) <= TOLERANCE_MS
    ? { ms: wallMs, corrected: false }
    : { ms, corrected: true };
}

/**
 * A time that a program gave. It is shifted like the wall clock if it was read from a wrong wall clock, which
 * is assumed if it is nearer to the wrong time than to the corrected one.
 */
export function givenTime(givenMs: number, instant: Instant, time: CorrectedTime): CorrectedTime {
  const ofWrongClock = Math.abs(givenMs - instant.wallMs) < Math.abs(givenMs - time.ms);
  return time.corrected && ofWrongClock
    ? { ms: givenMs + time.ms - instant.wallMs, corrected: true }
    : { ms: givenMs, corrected: false };
}

/** This software did not exist before. */
const EARLIEST_MS = Date.UTC(2025, 0, 1);

/**
 * Determines the epoch of each boot once, before any of its records is sent. For the current boot it follows
 * from the service's clock. For an earlier boot that never reached the service it follows from the wall
 * clock, if that is between the last contact and the start of the next boot. Otherwise the boot is assumed to
 * have ended when the next one started.
 */
export function fixBootEpochs(state: AgentState, now: Instant, serverMs: number): void {
  const known = state.epochOf(now.boot);
  const epochMs = known ?? serverMs - now.monoMs;
  if (known === null) state.keepEpoch(now.boot, epochMs);
  let beginningOfNext = epochMs;
  for (const first of state.bootsWithoutEpoch()) {
    if (first.boot === now.boot) continue;
    // The clock may have been set meanwhile, so its latest reading counts.
    const last = state.lastSampleOf(first.boot) ?? first;
    const earliest = Math.max(EARLIEST_MS, state.lastContactMs() ?? 0) - TOLERANCE_MS;
    const plausible = last.wallMs >= earliest && last.wallMs <= beginningOfNext;
    const end = plausible ? last.wallMs : beginningOfNext;
    state.keepEpoch(first.boot, end - last.monoMs);
    beginningOfNext = end - last.monoMs;
  }
  state.keepLastContact(serverMs);
}

/**
 * The timestamp to send: the given one, or that of the record. It depends on durable data alone, so that
 * repeated requests are equal byte by byte.
 */
export function timestampOf(
  given: string | undefined,
  record: SpoolRecord,
  epochMs: number | null,
): { text: string; corrected: boolean } {
  const own = timeOf(record, epochMs);
  const givenMs = given === undefined ? null : parseTimestamp(given);
  const { ms, corrected } = givenMs === null ? own : givenTime(givenMs, record, own);
  return { text: given !== undefined && !corrected ? given : formatTimestamp(ms), corrected };
}

/**
 * The body that delivers a claim or an event. `occurred_at` is the time of the record, because the service may receive it
 * much later.
 */
export function bodyOf<Content extends Body<'createTask'> | Body<'createEvent'>>(
  record: SpoolRecord,
  epochMs: number | null,
) {
  const content: Content = JSON.parse(record.body);
  const { text: occurred_at } = timestampOf(content.occurred_at, record, epochMs);
  return { ...content, id: record.id, occurred_at };
}
