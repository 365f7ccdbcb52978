// Settles the leaves of mined attempts: charge, receipt, `verified`.
import { Background } from './background.ts';
import { isInBlock, type LiveAttempt, type LiveAttempts } from './open-attempts.ts';

/**
 * Step 6. Runs concurrently with the other stages, so that queued proofs need not wait while a large batch is settled.
 */
export class Settlements extends Background {
  #isPaused = false;

  /**
   * Starts settling whatever is due, without waiting for it. Drops attempts that are settled. Throws the error that
   * ended the previous run.
   */
  begin(live: LiveAttempts): void {
    this.throwFailure();
    live.attempts = live.attempts.filter((one) => !isInBlock(one) || isUnsettled(one));
    if (this.isBusy || !live.attempts.some(isUnsettled)) return;
    this.#isPaused = false;
    this.run(this.#settleAll(live));
  }

  /** Resolves when no commit is in progress; none starts before the next `begin`. */
  pause(): Promise<void> {
    this.#isPaused = true;
    return this.end();
  }

  async #settleAll(live: LiveAttempts): Promise<void> {
    const { store, lease, clock, signal, options, onStep } = this.context;
    for (;;) {
      // Looked up each time, so that attempts found in a block meanwhile are included.
      const attempt = live.attempts.find(isUnsettled);
      if (attempt === undefined || this.#isPaused || signal.aborted) return;
      attempt.unsettledLeaves = await store.settleLeaves(
        lease,
        attempt.id,
        options.leavesPerCommit,
        clock.now(),
      );
      await onStep?.('leaves_settled');
    }
  }
}

function isUnsettled(attempt: LiveAttempt): boolean {
  return isInBlock(attempt) && attempt.unsettledLeaves > 0;
}
