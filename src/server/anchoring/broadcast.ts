// Broadcasts the stored bytes of attempts until they are mined.
import { gasLimitOf } from '../../chain/anchor-key.ts';
import type { BroadcastOutcome } from '../../chain/errors.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { Variant } from '../ports/anchoring.ts';
import type { AnchoringContext } from './context.ts';
import { type LiveAttempt, type LiveAttempts, newestVariant, unmined } from './open-attempts.ts';

export interface Broadcasts {
  /** Whether some are under way; no other begins meanwhile. */
  readonly busy: boolean;
  /** Whether any is to begin now. */
  isDue(live: LiveAttempts): boolean;
  /**
   * Begins whatever is due and does not wait for it. Call after the chain's identity was checked. Throws
   * what ended the last ones.
   */
  begin(live: LiveAttempts): void;
  /** Resolves when none is under way. */
  end(): Promise<void>;
}

/** Step 4, beside everything else: a node that is slow to take bytes must not hold up receipts. */
export function createBroadcasts(context: AnchoringContext, wake: () => void): Broadcasts {
  let underWay: Promise<void> | null = null;
  let faults: unknown[] = [];
  const due = (live: LiveAttempts) => {
    const now = performance.now();
    return unmined(live).filter((attempt) => now >= broadcastDueAt(context, attempt));
  };
  return {
    get busy() {
      return underWay !== null;
    },
    isDue: (live) => underWay === null && due(live).length > 0,
    begin(live) {
      const [fault, ...more] = faults;
      faults = more;
      if (fault !== undefined) throw fault;
      const attempts = due(live);
      if (underWay !== null || attempts.length === 0) return;
      underWay = broadcastAll(context, attempts, live.balance)
        .catch((error: unknown) => {
          faults = [error];
        })
        .finally(() => {
          underWay = null;
          wake();
        });
    },
    async end() {
      await underWay;
    },
  };
}

/** The lowest nonce first, because some nodes take no other before it; the rest beside each other. */
async function broadcastAll(
  context: AnchoringContext,
  attempts: LiveAttempt[],
  balance: bigint | null,
): Promise<void> {
  const [lowest, ...rest] = attempts;
  if (lowest !== undefined) await offer(context, lowest, balance);
  await Promise.all(rest.map((attempt) => offer(context, attempt, balance)));
}

/**
 * Offers an attempt's stored bytes to the node. Harmless to repeat. What is not known to be refused
 * counts as maybe sent: the next receipts tell.
 */
async function offer(
  context: AnchoringContext,
  attempt: LiveAttempt,
  balance: bigint | null,
): Promise<void> {
  const { chain, store, lease, clock, logger, signal } = context;
  const { rawTx, txHash } = variantToBroadcast(attempt, balance);
  const answer = await chain.broadcast(rawTx, signal);
  // A replacement that was signed meanwhile is to be offered itself.
  if (variantToBroadcast(attempt, balance).txHash === txHash) note(attempt, txHash, answer);
  if (answer.outcome === 'refused' || answer.outcome === 'unknown') {
    const { outcome, reason } = answer;
    logger.warn({ attempt: attempt.id, tx_hash: txHash, outcome, reason }, 'anchor not accepted');
    return;
  }
  await context.onStep?.('broadcast_sent');
  const { state } = attempt;
  if (state === 'signed' || state === 'reorged') {
    await store.recordBroadcast(lease, attempt.id, clock.now());
    // It may have been found in a block meanwhile.
    if (attempt.state === state) attempt.state = 'submitted';
  }
  await context.onStep?.('broadcast_recorded');
}

function note(attempt: LiveAttempt, txHash: Hex, answer: BroadcastOutcome): void {
  const isRefused = answer.outcome === 'refused';
  if (isRefused && isMinedFirst(attempt)) {
    // Nothing to wait for: the dearest is next, and only what is said of that one counts.
    attempt.minedTxHash = null;
    return;
  }
  attempt.broadcastAt = performance.now();
  // What is said of the dearest counts: another one was offered only because that cannot be paid.
  if (isRefused && txHash !== newestVariant(attempt).txHash) return;
  attempt.refusal = isRefused ? answer.meaning : null;
}

/**
 * After a reorganisation first the one that was mined, so that receipts may stay; else the dearest, or where that
 * was found to be underfunded the dearest that the balance pays.
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

/** When an attempt's bytes are to be offered, by `performance.now()`. */
export function broadcastDueAt({ options }: AnchoringContext, attempt: LiveAttempt): number {
  const { broadcastAt, refusal } = attempt;
  if (broadcastAt === null) return 0;
  const { bumpAfterMs, pauses } = options;
  return broadcastAt + (refusal === null ? bumpAfterMs : Math.min(bumpAfterMs, pauses.refusedMs));
}
