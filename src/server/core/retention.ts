// Deletes samples, events, evidence, audit entries, alerts and messages that are past their retention period, and accounts.
import { passed } from '../../base/async/on-abort.ts';
import { limits } from '../../protocol/limits.ts';
import { continueDeletions } from './account.ts';
import type { Deps } from './deps.ts';

/** Maximum number of rows per step. Steps with large rows end sooner. */
const STEP_ROWS = 500;
/** Pause between two steps, so that other writes go first. */
const STEP_PAUSE_MS = 20;
const EVERY_MS = 10 * 60_000;

export interface RetentionOptions extends Pick<Deps, 'store' | 'clock'> {
  /** `null` disables deletion. */
  telemetryRetentionMs: number | null;
  eventRetentionMs: number | null;
  proofRetentionMs: number | null;
  /** Called when a round fails; the next round tries again. */
  onError: (error: unknown) => void;
}

/**
 * Deletes expired samples, events, evidence, audit entries, alerts and messages, and data of deleted robots: now, and
 * every 10 minutes until stopped.
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

/** One round of deletion by age, in small steps. Ends early when the signal aborts. */
export async function deleteExpired(
  { store, clock, telemetryRetentionMs, eventRetentionMs, proofRetentionMs }: RetentionOptions,
  signal: AbortSignal,
): Promise<void> {
  const kinds = [
    { ageMs: limits.auditLogMs, deleteSome: store.deleteAuditLog },
    { ageMs: limits.auditLogMs, deleteSome: store.deleteAlerts },
    { ageMs: limits.webhookDeliveriesMs, deleteSome: store.deleteDeliveries },
    { ageMs: proofRetentionMs, deleteSome: store.eraseOldProofs },
    { ageMs: eventRetentionMs, deleteSome: store.deleteEvents },
  ];
  for (const { ageMs, deleteSome } of kinds) {
    if (ageMs === null) continue;
    const before = clock.now() - ageMs;
    await runSteps(signal, () => deleteSome(before, STEP_ROWS));
  }
  if (telemetryRetentionMs !== null) {
    const before = clock.now() - telemetryRetentionMs;
    let cursor: string | null = null;
    await runSteps(signal, async () => {
      cursor = await store.deleteSamples(before, STEP_ROWS, cursor);
      return cursor !== null;
    });
  }
}

/**
 * Deletes what deleted robots left behind, until nothing is left. The accounts take turns, one step each, so that the
 * robots of one account delay no other account for long.
 */
async function deleteTraces({ store }: RetentionOptions, signal: AbortSignal): Promise<void> {
  let wallet = '';
  await runSteps(signal, async () => {
    const isFirst = wallet === '';
    wallet = (await store.nextWithTraces(wallet)) ?? '';
    if (wallet !== '') await store.deleteTraces(wallet, STEP_ROWS);
    return wallet !== '' || !isFirst;
  });
}

async function keepDeleting(options: RetentionOptions, signal: AbortSignal): Promise<void> {
  const { onError } = options;
  // Separate loops: callers who delete robots all the time can keep the deletion of traces from ending.
  const duties = [
    async () => {
      await deleteExpired(options, signal);
      options.store.changedAnywhere();
    },
    () => deleteTraces(options, signal),
    () => continueDeletions(options, signal, onError),
  ];
  const keepOn = async (duty: () => Promise<void>) => {
    do await duty().catch(onError);
    while (await passed(EVERY_MS, signal));
  };
  await Promise.all(duties.map(keepOn));
}

async function runSteps(signal: AbortSignal, step: () => Promise<boolean>): Promise<void> {
  while (!signal.aborted && (await step())) await passed(STEP_PAUSE_MS, signal);
}
