// The status of anchoring that operators see: degradations, parked anchors, fee quote.
import type { FeeQuote } from '../ports/anchoring.ts';
import type { AnchoringContext, Degradation, Hold } from './context.ts';
import type { FeeHistory } from './fee-history.ts';
import { type LiveAttempt, type LiveAttempts, unmined } from './open-attempts.ts';
import type { Refusals } from './preflight.ts';

/** A heartbeat: distinguishes an idle anchorer from a dead one. */
const SAVED_AT_LEAST_EVERY_MS = 30_000;

export interface ChainStatus {
  /** Saves changes, and logs degradations that start or end. Fields that are left out stay unchanged. */
  save(
    context: AnchoringContext,
    status: {
      degraded: readonly Degradation[];
      parked?: number;
      quote?: FeeQuote | undefined;
      balance?: bigint | null;
    },
  ): Promise<void>;
}

/** Keeps the chain status in the store up to date, without a commit when nothing has changed. */
export function createChainStatus(): ChainStatus {
  let savedDegraded = '';
  let savedParked = 0;
  let savedQuote: FeeQuote | undefined;
  let savedAt = Number.NEGATIVE_INFINITY;
  return {
    async save(
      { store, lease, clock, logger },
      { degraded, parked = savedParked, quote, balance = null },
    ) {
      // A monotonic clock: a change of the system clock must not keep the status from being saved.
      const now = performance.now();
      const reasons = [...new Set(degraded)].sort();
      const text = reasons.join();
      const isNewQuote = quote !== undefined && !sameQuote(quote, savedQuote);
      const isSame = text === savedDegraded && parked === savedParked && !isNewQuote;
      if (isSame && now - savedAt < SAVED_AT_LEAST_EVERY_MS) return;
      await store.saveChainStatus(lease, {
        degraded: reasons,
        parked,
        now: clock.now(),
        balance,
        ...(quote === undefined ? {} : { quote }),
      });
      if (text !== savedDegraded) {
        const sender = lease.sender;
        if (text === '') logger.info({ sender }, 'anchoring recovered');
        else logger.warn({ sender, degraded: reasons }, 'anchoring degraded');
      }
      [savedDegraded, savedParked] = [text, parked];
      [savedQuote, savedAt] = [quote ?? savedQuote, now];
    },
  };
}

interface Reasons {
  readonly context: AnchoringContext;
  readonly hold: Hold | null;
  readonly refusals: Refusals;
  readonly fees: FeeHistory;
}

/** The degradations of this account; may contain duplicates. */
export function degradationsOf(
  { context, hold, refusals, fees }: Reasons,
  live: LiveAttempts,
): Degradation[] {
  const reasons: Degradation[] = [];
  // What prevents signing is irrelevant to an account that is only followed.
  if (context.key !== null) {
    if (hold !== null && hold !== 'first_nonce') reasons.push(hold);
    if (refusals.any) reasons.push('gas_refused');
    if (fees.isJump) reasons.push('fee_jump');
  }
  if (live.nonceConflict) reasons.push('nonce_conflict');
  const parked = live.bumpClock?.parked ?? null;
  if (parked !== null) reasons.push(parked === 'no_key' ? 'foreign_attempts_open' : parked);
  reasons.push(...unmined(live).flatMap(refusalOf));
  if (live.attempts.some(({ failed }) => failed)) reasons.push('attempt_reverted');
  for (const { state } of context.chain.providers()) {
    if (state === 'unhealthy') reasons.push('provider_unhealthy');
    if (state === 'wrong_chain') reasons.push('provider_wrong_chain');
  }
  return reasons;
}

/** Number of attempts that wait for price, funds or key. */
export function parkedCount(live: LiveAttempts): number {
  const parked = live.bumpClock?.parked == null ? null : live.bumpClock.attemptId;
  return unmined(live).filter(({ id, refusal }) => id === parked || refusal === 'underfunded')
    .length;
}

function sameQuote(a: FeeQuote, b: FeeQuote | undefined): boolean {
  return (
    a.singleGas === b?.singleGas &&
    a.baseFeePerGas === b.baseFeePerGas &&
    a.maxPriorityFeePerGas === b.maxPriorityFeePerGas &&
    a.dataFeeWei === b.dataFeeWei
  );
}

function refusalOf({ refusal }: LiveAttempt): Degradation[] {
  if (refusal === null) return [];
  return [refusal === 'underfunded' ? 'underfunded' : 'broadcast_refused'];
}
