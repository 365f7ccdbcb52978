import type { AnchoringContext } from './anchoring-context.ts';
import { type LiveAttempt, type LiveAttempts, newestVariant, unmined } from './attempts.ts';

/**
 * Step 4: offers an attempt's stored bytes to the node. Harmless to repeat. What is not known to be
 * refused counts as maybe sent: the next receipts tell.
 */
export async function offer(context: AnchoringContext, attempt: LiveAttempt): Promise<void> {
  const { chain, store, lease, clock, logger, signal } = context;
  const { rawTx, txHash } = newestVariant(attempt);
  const answer = await chain.broadcast(rawTx, signal);
  attempt.offeredAt = performance.now();
  attempt.refused = answer.outcome === 'refused';
  if (answer.outcome === 'refused' || answer.outcome === 'unknown') {
    const { outcome, reason } = answer;
    logger.warn({ attempt: attempt.id, tx_hash: txHash, outcome, reason }, 'anchor not accepted');
    return;
  }
  await context.onStep?.('broadcast_sent');
  if (attempt.state === 'signed') {
    await store.recordBroadcast(lease, attempt.id, clock.now());
    attempt.state = 'submitted';
  }
  await context.onStep?.('broadcast_recorded');
}

/** Offers again what has no receipt for too long, and what was never offered; lowest nonce first. */
export async function offerDue(context: AnchoringContext, live: LiveAttempts): Promise<void> {
  const now = performance.now();
  for (const attempt of unmined(live)) {
    if (now >= offerDueAt(context, attempt)) await offer(context, attempt);
  }
}

export function offerDueAt({ options }: AnchoringContext, attempt: LiveAttempt): number {
  return attempt.offeredAt === null ? 0 : attempt.offeredAt + options.rebroadcastAfterMs;
}
