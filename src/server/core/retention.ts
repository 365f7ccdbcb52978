// Deletes samples, events and evidence that are past their retention period.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import type { EvidenceStore } from '../ports/evidence.ts';
import type { RetentionStore } from '../ports/retention.ts';

/** Rows of one step at most; large ones end it sooner. */
const STEP_ROWS = 500;
/** Between two steps, so that other writes go first. */
const STEP_PAUSE_MS = 20;
const EVERY_MS = 10 * 60_000;

export interface RetentionOptions {
  store: RetentionStore & Pick<EvidenceStore, 'eraseOldProofs'>;
  clock: Clock;
  /** Null keeps. */
  telemetryRetentionMs: number | null;
  eventRetentionMs: number | null;
  proofRetentionMs: number | null;
  /** A round that failed; the next one tries again. */
  onError: (error: unknown) => void;
}

/**
 * Deletes samples, events and evidence beyond their age, and what deleted robots left behind: at once and every ten
 * minutes, until stopped.
 */
export function startRetention(options: RetentionOptions): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const ended = keepDeleting(options, stopping.signal);
  return {
    stop() {
      stopping.abort();
      return ended;
    },
  };
}

async function keepDeleting(options: RetentionOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await deleteExpired(options, signal).catch(options.onError);
    await pause(EVERY_MS, signal);
  }
}

/** One round, in small steps; ends early when the signal aborts. */
export async function deleteExpired(
  { store, clock, telemetryRetentionMs, eventRetentionMs, proofRetentionMs }: RetentionOptions,
  signal: AbortSignal,
): Promise<void> {
  await runYielding(signal, () => store.deleteTraces(STEP_ROWS));
  if (proofRetentionMs !== null) {
    const before = clock.now() - proofRetentionMs;
    await runYielding(signal, () => store.eraseOldProofs(before, STEP_ROWS));
  }
  if (eventRetentionMs !== null) {
    const before = clock.now() - eventRetentionMs;
    await runYielding(signal, () => store.deleteEvents(before, STEP_ROWS));
  }
  if (telemetryRetentionMs !== null) {
    const before = clock.now() - telemetryRetentionMs;
    let cursor: string | null = null;
    await runYielding(signal, async () => {
      cursor = await store.deleteSamples(before, STEP_ROWS, cursor);
      return cursor !== null;
    });
  }
}

async function runYielding(signal: AbortSignal, step: () => Promise<boolean>): Promise<void> {
  while (!signal.aborted && (await step())) await pause(STEP_PAUSE_MS, signal);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // Rejects only when the signal aborts, which is what ends the wait.
  await sleep(ms, undefined, { signal, ref: false }).catch(() => {});
}
