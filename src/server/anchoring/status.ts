// The status of anchoring that operators see: degradations, parked anchors, fee quote.
import { isDeepStrictEqual } from 'node:util';
import type { FeeQuote } from '../ports/anchoring.ts';
import type { AnchoringContext, Degradation, Hold } from './context.ts';
import { type LiveAttempt, type LiveAttempts, unmined } from './open-attempts.ts';
import type { Refusals } from './preflight.ts';

/** A heartbeat: distinguishes an idle anchorer from a dead one. */
const SAVED_AT_LEAST_EVERY_MS = 30_000;

interface NewStatus {
  readonly degraded: readonly Degradation[];
  readonly parked?: number;
  readonly quote?: FeeQuote | undefined;
  readonly balance?: bigint | null;
  readonly neededWei?: bigint | null;
}

/** Keeps the chain status in the store up to date, without a commit when nothing has changed. */
export class ChainStatus {
  #degraded = '';
  #parked = 0;
  #quote: FeeQuote | undefined;
  #savedAt = Number.NEGATIVE_INFINITY;

  /** Saves changes, and logs degradations that start or end. Fields that are left out stay unchanged. */
  async save(
    { store, lease, clock, logger }: AnchoringContext,
    { degraded, parked = this.#parked, quote, balance = null, neededWei = null }: NewStatus,
  ): Promise<void> {
    // A monotonic clock: a change of the system clock must not keep the status from being saved.
    const now = performance.now();
    const reasons = [...new Set(degraded)].sort();
    const text = reasons.join();
    const isNewQuote = quote !== undefined && !isDeepStrictEqual(quote, this.#quote);
    const isSame = text === this.#degraded && parked === this.#parked && !isNewQuote;
    if (isSame && now - this.#savedAt < SAVED_AT_LEAST_EVERY_MS) return;
    const changed = { degraded: reasons, parked, now: clock.now(), balance, neededWei };
    await store.saveChainStatus(lease, { ...changed, ...(quote && { quote }) });
    if (text !== this.#degraded) {
      const sender = lease.sender;
      if (text === '') logger.info({ sender }, 'anchoring recovered');
      else logger.warn({ sender, degraded: reasons }, 'anchoring degraded');
    }
    [this.#degraded, this.#parked] = [text, parked];
    [this.#quote, this.#savedAt] = [quote ?? this.#quote, now];
  }
}

const HOUR_MS = 3_600_000;
const KEPT_EVERY_MS = 60_000;
const JUMP = 10n;

/** Remembers the fees of the last hour, to report a jump. */
export class FeeHistory {
  #kept: { at: number; fee: bigint }[] = [];
  /** Whether the newest fee is above ten times the median of the last hour. */
  isJump = false;

  /** Notes a fee per gas in wei, read at `now` (`performance.now()`). */
  note(fee: bigint, now: number): void {
    this.#kept = this.#kept.filter(({ at }) => now - at < HOUR_MS);
    const sorted = this.#kept.map((one) => one.fee).sort((a, b) => (a < b ? -1 : 1));
    const median = sorted[Math.floor(sorted.length / 2)];
    this.isJump = median !== undefined && fee > JUMP * median;
    if (now - (this.#kept.at(-1)?.at ?? Number.NEGATIVE_INFINITY) >= KEPT_EVERY_MS) {
      this.#kept.push({ at: now, fee });
    }
  }
}

interface Reasons {
  readonly context: AnchoringContext;
  readonly hold: Hold | null;
  readonly refusals: Refusals;
  readonly fees: FeeHistory;
}

/** The degradations of this account; may contain duplicates. */
export function degradationsOf({ context, hold, refusals, fees }: Reasons, live: LiveAttempts) {
  const reasons: Degradation[] = [];
  // What prevents signing is irrelevant to an account that is only followed.
  if (context.key !== null) {
    if (hold !== null && hold !== 'first_nonce') reasons.push(hold);
    if (refusals.any) reasons.push('gas_refused');
    if (fees.isJump) reasons.push('fee_jump');
  }
  if (live.nonceConflict) reasons.push('nonce_conflict');
  const parked = live.bumpClock?.parked ?? null;
  if (parked !== null) reasons.push(parked === 'no_key' ? 'unconfigured_sender' : parked);
  reasons.push(...unmined(live).flatMap(refusalOf));
  if (live.attempts.some(({ failed }) => failed)) reasons.push('attempt_reverted');
  if (live.attempts.some(({ unknownLookups }) => unknownLookups > 0))
    reasons.push('provider_unhealthy');
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

function refusalOf({ refusal }: LiveAttempt): Degradation[] {
  if (refusal === null) return [];
  return [refusal === 'underfunded' ? 'underfunded' : 'broadcast_refused'];
}
