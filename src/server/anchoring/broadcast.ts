// Broadcasts the stored bytes of attempts until they are mined.

import type { BroadcastOutcome } from '../../chain/errors.ts';
import { gasLimitOf } from '../../chain/keys/anchor-key.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { Variant } from '../ports/anchoring.ts';
import { Background } from './background.ts';
import type { AnchoringContext } from './context.ts';
import { type LiveAttempt, type LiveAttempts, newestVariant, unmined } from './open-attempts.ts';

/**
 * Step 4. Runs concurrently with the other stages: a node that is slow to accept transactions must not delay receipts.
 */
export class Broadcasts extends Background {
  /** Whether any attempt is due and none is in progress. */
  isDue(live: LiveAttempts): boolean {
    return !this.isBusy && this.#due(live).length > 0;
  }

  /**
   * Starts all due broadcasts without waiting for them. Call only after the chain's identity was checked. Throws the
   * error that ended the previous ones.
   */
  begin(live: LiveAttempts): void {
    this.throwFailure();
    if (this.isDue(live)) this.run(broadcastAll(this.context, this.#due(live), live.balance));
  }

  #due(live: LiveAttempts): LiveAttempt[] {
    const now = performance.now();
    return unmined(live).filter((attempt) => now >= broadcastDueAt(this.context, attempt));
  }
}

/** When an attempt is due to be broadcast (`performance.now()`). */
export function broadcastDueAt({ options }: AnchoringContext, attempt: LiveAttempt): number {
  const { broadcastAt, refusal } = attempt;
  if (broadcastAt === null) return 0;
  const { bumpAfterMs, pauses } = options;
  return broadcastAt + (refusal === null ? bumpAfterMs : Math.min(bumpAfterMs, pauses.refusedMs));
}

/** Sends the lowest nonce first, because some nodes accept no other before it, then the rest concurrently. */
async function broadcastAll(
  context: AnchoringContext,
  attempts: LiveAttempt[],
  balance: bigint | null,
): Promise<void> {
  const [lowest, ...rest] = attempts;
  if (lowest !== undefined) await broadcastOne(context, lowest, balance);
  await Promise.all(rest.map((attempt) => broadcastOne(context, attempt, balance)));
}

/**
 * Offers an attempt's stored bytes to the node. Harmless to repeat. What is not known to be refused
 * counts as maybe sent: the next receipts tell.
 */
async function broadcastOne(
  context: AnchoringContext,
  attempt: LiveAttempt,
  balance: bigint | null,
): Promise<void> {
  const { chain, store, lease, clock, logger, signal } = context;
  const { rawTx, txHash } = variantToBroadcast(attempt, balance);
  const answer = await chain.broadcast(rawTx, signal);
  // If a replacement was signed in the meantime, the answer is about a variant that is no longer the one to broadcast.
  if (variantToBroadcast(attempt, balance).txHash === txHash) note(attempt, txHash, answer);
  if (answer.outcome === 'refused' || answer.outcome === 'unknown') {
    const { outcome, reason } = answer;
    logger.warn(
      { attempt: attempt.id, tx_hash: txHash, outcome, reason },
      'node did not accept transaction',
    );
    return;
  }
  await context.onStep?.('broadcast_sent');
  const { state } = attempt;
  if (state === 'signed' || state === 'reorged') {
    await store.recordBroadcast(lease, attempt.id, clock.now());
    // The attempt may have been found in a block in the meantime.
    if (attempt.state === state) attempt.state = 'submitted';
  }
  await context.onStep?.('broadcast_recorded');
}

function note(attempt: LiveAttempt, txHash: Hex, answer: BroadcastOutcome): void {
  const isRefused = answer.outcome === 'refused';
  if (isRefused && isMinedFirst(attempt)) {
    // Do not wait: the newest variant is next, and only answers about that one count.
    attempt.minedTxHash = null;
    return;
  }
  attempt.broadcastAt = performance.now();
  // Only answers about the newest variant count: another one was sent only because the balance cannot pay for the
  // newest.
  if (isRefused && txHash !== newestVariant(attempt).txHash) return;
  attempt.refusal = isRefused ? answer.meaning : null;
}

/**
 * The variant to send. After a reorganization it is the one that was mined, so that receipts may keep their place.
 * Otherwise it is the newest, or, if that was refused as underfunded, the most expensive one that the balance covers.
 */
function variantToBroadcast(attempt: LiveAttempt, balance: bigint | null): Variant {
  const { variants, minedTxHash, refusal } = attempt;
  const mined = variants.find(({ txHash }) => txHash === minedTxHash);
  if (isMinedFirst(attempt) && mined !== undefined) return mined;
  const newest = newestVariant(attempt);
  if (refusal !== 'underfunded' || balance === null) return newest;
  return variants.findLast((variant) => mostCostOf(variant) <= balance) ?? newest;
}

function mostCostOf({ rawTx, maxFeePerGas }: Variant): bigint {
  return gasLimitOf(rawTx) * maxFeePerGas;
}

function isMinedFirst({ state, minedTxHash }: LiveAttempt): boolean {
  return state === 'reorged' && minedTxHash !== null;
}
