// Watches included anchors until their blocks are final, and records reorganizations.
import { ProviderError } from '../../chain/errors.ts';
import type { InclusionChanges } from '../ports/anchoring.ts';
import { Background } from './background.ts';
import type { AnchoringContext } from './context.ts';
import { createIncludedWatch } from './inclusion.ts';
import {
  hasUnexplainedNonce,
  isInBlock,
  type LiveAttempts,
  refreshAttempts,
} from './open-attempts.ts';
import { adopt, createReplacedNonceWatch, type ReplacedNonces } from './replaced-nonce.ts';

/** Results of one check of the chain; none of them is recorded yet. */
interface Verdicts extends ReplacedNonces {
  readonly changes: InclusionChanges;
}

/** Step 7: follows included attempts until they are final, and replaced nonces until their replacement is final. */
export class FinalityWatch extends Background {
  readonly #included = createIncludedWatch(this.context);
  readonly #replacedNonces = createReplacedNonceWatch(this.context);
  #found: Verdicts | null = null;
  /** When the next check is due (`performance.now()`). */
  dueAt = 0;
  #left = Number.POSITIVE_INFINITY;
  #isFailing = false;

  /** Whether the last complete check left nothing that is not final. */
  get isAllFinal(): boolean {
    return this.#left === 0;
  }

  /** As `isAllFinal`, and no check is in progress or to be recorded. */
  get isIdle(): boolean {
    return this.isAllFinal && !this.isBusy && this.#found === null;
  }

  /** Whether the last check has results that are not recorded yet. */
  get hasFound(): boolean {
    return this.#found !== null;
  }

  /** Starts a check if one is due, without waiting for it: anchoring continues meanwhile. */
  begin(live: LiveAttempts, pauseMs: number): void {
    if (this.isBusy || this.hasFound || performance.now() < this.dueAt) return;
    this.dueAt = performance.now() + pauseMs;
    this.run(this.#look(live));
  }

  /**
   * Records the results of the last check. Returns whether proofs were queued again. Throws the error that ended it.
   */
  async record(live: LiveAttempts): Promise<boolean> {
    this.throwFailure();
    const verdicts = this.#found;
    this.#found = null;
    return verdicts !== null && (await recordVerdicts(this.context, live, verdicts));
  }

  async #look(live: LiveAttempts): Promise<void> {
    const { signal, logger } = this.context;
    try {
      const { changes, count, isMoreDue } = await this.#included.look(live);
      const replaced = await this.#replacedNonces.look(live);
      this.#left = count + live.attempts.length;
      this.#found = { changes, ...replaced };
      if (isMoreDue) this.dueAt = 0;
      this.#isFailing = false;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ProviderError)) throw error;
      const { reason } = error;
      if (!this.#isFailing) logger.warn({ reason }, 'failed to read finality; retrying');
      this.#isFailing = true;
    }
  }
}

async function recordVerdicts(
  context: AnchoringContext,
  live: LiveAttempts,
  { changes, lost, adoptable, lookedUp }: Verdicts,
): Promise<boolean> {
  const { store, lease, clock, logger } = context;
  const { safe, finalized, reorged } = changes;
  if (safe.length + finalized.length + reorged.length > 0) {
    await context.onStep?.('inclusion_changed');
    await store.recordInclusionChanges(lease, changes, clock.now());
    await context.onStep?.('inclusion_change_recorded');
  }
  if (reorged.length > 0) {
    logger.warn({ attempts: reorged }, 'chain reorganized; resending anchors');
    // The stored transaction count predates the reorganization.
    live.counted = null;
  }
  await adopt(context, live, adoptable);
  for (const attempt of live.attempts) {
    if (attempt.unknownLookups > 0) attempt.mined = lookedUp.get(attempt.id) ?? attempt.mined;
  }
  live.nonceConflict &&= hasUnexplainedNonce(live);
  const unmined = live.attempts.filter((attempt) => !isInBlock(attempt)).map(({ id }) => id);
  const dead = lost.filter((id) => unmined.includes(id));
  for (const id of dead) {
    await context.onStep?.('replaced_nonce_found');
    await store.recordReplacedNonce(lease, id, clock.now());
    logger.error({ attempt: id }, 'nonce used by another transaction; requeued proofs');
    await context.onStep?.('replaced_nonce_recorded');
  }
  if (finalized.length + reorged.length + dead.length > 0) {
    await refreshAttempts(store, lease, live);
  }
  return dead.length > 0;
}
