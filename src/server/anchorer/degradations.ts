import type { AnchoringContext, Degradation, Hold } from './anchoring-context.ts';
import { type LiveAttempt, type LiveAttempts, unmined } from './attempts.ts';
import type { Refusals } from './refusals.ts';

interface Standing {
  readonly context: AnchoringContext;
  readonly hold: Hold | null;
  readonly refusals: Refusals;
}

/** Why anchoring of this account is not at its best; some more than once. */
export function degradationsOf(
  { context, hold, refusals }: Standing,
  live: LiveAttempts,
): Degradation[] {
  const reasons: Degradation[] = [];
  // What keeps from signing is nothing to an account that only is followed.
  if (context.key !== null) {
    if (hold !== null && hold !== 'first_nonce') reasons.push(hold);
    if (refusals.any) reasons.push('gas_refused');
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

/** Attempts that wait for price, funds or key. */
export function parkedCount(live: LiveAttempts): number {
  const parked = live.bumpClock?.parked == null ? null : live.bumpClock.attemptId;
  return unmined(live).filter(({ id, refusal }) => id === parked || refusal === 'underfunded')
    .length;
}

function refusalOf({ refusal }: LiveAttempt): Degradation[] {
  if (refusal === null) return [];
  return [refusal === 'underfunded' ? 'underfunded' : 'broadcast_refused'];
}
