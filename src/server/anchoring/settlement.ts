// Settles the leaves of mined attempts: charge, receipt, `verified`.
import type { AnchoringContext } from './context.ts';
import { isInBlock, type LiveAttempt, type LiveAttempts } from './open-attempts.ts';

/** Leaves settled in one commit, so that none holds up other writers for long. */
const SETTLED_PER_COMMIT = 64;

export interface Settlements {
  /** Begins whatever is due and does not wait for it. Forgets what is settled. Throws what ended the last ones. */
  begin(live: LiveAttempts): void;
  /** Resolves when no commit is under way; none follows before the next `begin`. */
  pause(): Promise<void>;
}

/** Step 6, beside everything else: what is queued while a large batch is settled need not wait for its end. */
export function createSettlements(context: AnchoringContext, wake: () => void): Settlements {
  const { store, lease, clock, signal } = context;
  let underWay: Promise<void> | null = null;
  let fault: { error: unknown } | null = null;
  let isPaused = false;

  async function settleAll(live: LiveAttempts): Promise<void> {
    for (;;) {
      // Looked up each time: what is found in a block meanwhile follows.
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
      if (fault !== null) {
        const { error } = fault;
        fault = null;
        throw error;
      }
      live.attempts = live.attempts.filter((one) => !isInBlock(one) || isUnsettled(one));
      if (underWay !== null || !live.attempts.some(isUnsettled)) return;
      isPaused = false;
      underWay = settleAll(live)
        .catch((error: unknown) => {
          fault = { error };
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
