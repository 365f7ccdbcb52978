// Settles the leaves of mined attempts: charge, receipt, `verified`.
import type { AnchoringContext } from './context.ts';
import { isInBlock, type LiveAttempt, type LiveAttempts } from './open-attempts.ts';

/** Number of leaves settled per commit, so that none blocks other writers for long. */
const SETTLED_PER_COMMIT = 64;

export interface Settlements {
  /**
   * Starts settling whatever is due, without waiting for it. Drops attempts that are settled. Throws the error that
   * ended the previous run.
   */
  begin(live: LiveAttempts): void;
  /** Resolves when no commit is in progress; none starts before the next `begin`. */
  pause(): Promise<void>;
}

/**
 * Step 6. Runs concurrently with the other stages, so that queued proofs need not wait while a large batch is settled.
 */
export function createSettlements(context: AnchoringContext, wake: () => void): Settlements {
  const { store, lease, clock, signal } = context;
  let underWay: Promise<void> | null = null;
  let failure: { error: unknown } | null = null;
  let isPaused = false;

  async function settleAll(live: LiveAttempts): Promise<void> {
    for (;;) {
      // Looked up each time, so that attempts found in a block meanwhile are included.
      const attempt = live.attempts.find(isUnsettled);
      if (attempt === undefined || isPaused || signal.aborted) return;
      attempt.unsettledLeaves = await store.settleLeaves(
        lease,
        attempt.id,
        SETTLED_PER_COMMIT,
        clock.now(),
      );
      await context.onStep?.('leaves_settled');
    }
  }

  return {
    begin(live) {
      if (failure !== null) {
        const { error } = failure;
        failure = null;
        throw error;
      }
      live.attempts = live.attempts.filter((one) => !isInBlock(one) || isUnsettled(one));
      if (underWay !== null || !live.attempts.some(isUnsettled)) return;
      isPaused = false;
      underWay = settleAll(live)
        .catch((error: unknown) => {
          failure = { error };
        })
        .finally(() => {
          underWay = null;
          wake();
        });
    },
    async pause() {
      isPaused = true;
      await underWay;
    },
  };
}

function isUnsettled(attempt: LiveAttempt): boolean {
  return isInBlock(attempt) && attempt.unsettledLeaves > 0;
}
