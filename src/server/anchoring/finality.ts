// Watches included anchors until their blocks are final, and records reorganizations.
import { ProviderError } from '../../chain/errors.ts';
import type { InclusionChanges } from '../ports/anchoring.ts';
import type { AnchoringContext } from './context.ts';
import { createIncludedWatch } from './inclusion.ts';
import { isInBlock, type LiveAttempts, refreshAttempts } from './open-attempts.ts';
import { type Adoptable, adopt, createReplacedNonceWatch } from './replaced-nonce.ts';

/** Results of one check of the chain; none of them is recorded yet. */
interface Verdicts {
  readonly changes: InclusionChanges;
  /** Ids of attempts that can never be mined. */
  readonly lost: readonly string[];
  readonly adoptable: readonly Adoptable[];
}

export interface FinalityWatch {
  /** Whether a check is in progress. It wakes the loop when it ends. */
  readonly busy: boolean;
  /** When the next check is due (`performance.now()`). */
  readonly dueAt: number;
  /** Whether the last check left nothing that is not final. */
  readonly isIdle: boolean;
  /** Whether the last check has results that are not recorded yet. */
  readonly hasFound: boolean;
  /** Starts a check if one is due, without waiting for it: anchoring continues meanwhile. */
  begin(live: LiveAttempts, pauseMs: number): void;
  /**
   * Records the results of the last check. Returns whether proofs were queued again. Throws the error that ended it.
   */
  record(live: LiveAttempts): Promise<boolean>;
  /** Resolves when no check is in progress. */
  end(): Promise<void>;
}

/** Step 7: follows included attempts until they are final, and replaced nonces until their replacement is final. */
export function createFinalityWatch(context: AnchoringContext, wake: () => void): FinalityWatch {
  let underWay: Promise<void> | null = null;
  let found: Verdicts | null = null;
  let failure: unknown = null;
  let dueAt = 0;
  let left = Number.POSITIVE_INFINITY;
  let isFailing = false;
  const included = createIncludedWatch(context);
  const replacedNonces = createReplacedNonceWatch(context);

  async function look(live: LiveAttempts): Promise<void> {
    const { changes, count, isMoreDue } = await included.look(live);
    const { lost, adoptable } = await replacedNonces.look(live);
    left = count + live.attempts.length;
    found = { changes, lost, adoptable };
    if (isMoreDue) dueAt = 0;
  }

  return {
    get busy() {
      return underWay !== null;
    },
    get dueAt() {
      return dueAt;
    },
    get hasFound() {
      return found !== null;
    },
    get isIdle() {
      return left === 0 && underWay === null && found === null;
    },
    begin(live, pauseMs) {
      if (underWay !== null || found !== null || performance.now() < dueAt) return;
      dueAt = performance.now() + pauseMs;
      underWay = look(live)
        .then(() => {
          isFailing = false;
        })
        .catch((error: unknown) => {
          if (context.signal.aborted) return;
          if (!(error instanceof ProviderError)) {
            failure = error;
            return;
          }
          const { reason } = error;
          if (!isFailing) context.logger.warn({ reason }, 'failed to read finality; retrying');
          isFailing = true;
        })
        .finally(() => {
          underWay = null;
          wake();
        });
    },
    async record(live) {
      if (failure !== null) {
        const error = failure;
        failure = null;
        throw error;
      }
      const verdicts = found;
      found = null;
      return verdicts !== null && (await recordVerdicts(context, live, verdicts));
    },
    async end() {
      await underWay;
    },
  };
}

async function recordVerdicts(
  context: AnchoringContext,
  live: LiveAttempts,
  { changes, lost, adoptable }: Verdicts,
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
