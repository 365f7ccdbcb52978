// Raises the fee of a transaction that is stuck, under the same nonce.
import { gasLimitOf } from '../../chain/keys/anchor-key.ts';
import { lesser, type SenderState } from '../../chain/sender-state.ts';
import type { Variant } from '../ports/anchoring.ts';
import { gasLimit, maxFeePerGas } from '../rules/credits.ts';
import { bytesOf } from './batch.ts';
import { type AnchoringContext, readSenderState } from './context.ts';
import {
  type LiveAttempt,
  type LiveAttempts,
  newestVariant,
  type Parking,
  unmined,
} from './open-attempts.ts';

/** Restarts the bump clock when another nonce is the lowest, or its newest variant has changed. */
export function runBumpClock(live: LiveAttempts): void {
  const { bumpClock, counted } = live;
  const [lowest] = unmined(live);
  const txHash = lowest && newestVariant(lowest).txHash;
  if (bumpClock?.attemptId === lowest?.id && bumpClock?.txHash === txHash) return;
  // Until the replacement is broadcast the previous clock stays: it counts the blind replacements.
  if (bumpClock?.attemptId !== lowest?.id) live.bumpClock = null;
  if (lowest === undefined || txHash === undefined) return;
  if (lowest.broadcastAt === null || counted === null) return;
  const since = performance.now();
  const { headNumber } = counted;
  const isBlind = bumpClock?.attemptId === lowest.id && headNumber <= bumpClock.headNumber;
  live.bumpClock = {
    attemptId: lowest.id,
    txHash,
    since,
    headNumber,
    blindly: isBlind ? bumpClock.blindly + 1 : 0,
    parked: null,
    lookAt: since,
  };
}

/**
 * When the lowest nonce is due for replacement (`performance.now()`); null: not before the next reading of the sender
 * state.
 */
export function bumpDueAt(context: AnchoringContext, live: LiveAttempts): number | null {
  const { bumpClock, counted } = live;
  const [lowest] = unmined(live);
  if (bumpClock === null || lowest === undefined || counted === null) return null;
  // The clock survived an error; its transaction is broadcast again first.
  if (lowest.broadcastAt === null) return null;
  // A used nonce needs a lookup of receipts, not a replacement.
  if (counted.latestNonce > lowest.nonce) return null;
  const { since, lookAt } = bumpClock;
  const { bumpAfterMs, pauses } = context.options;
  if (lowest.refusal === 'underpriced' || lowest.refusal === 'gas_limit')
    return Math.max(since + pauses.bumpAgainMs, lookAt);
  const isLeftOut = counted.headNumber > bumpClock.headNumber;
  // Without new blocks, either the fee is too low for every block producer, or no fee would help.
  const patience = isLeftOut ? 1 : 2 ** (bumpClock.blindly + 1);
  return Math.max(since + patience * bumpAfterMs, lookAt);
}

/**
 * Replaces the transaction of the lowest nonce at higher fees, if that is due; the replacement is broadcast next. If
 * price, funds or a missing key rule out a replacement, the attempt is parked and tried again.
 */
export async function bump(context: AnchoringContext, live: LiveAttempts): Promise<void> {
  const dueAt = bumpDueAt(context, live);
  const [lowest] = unmined(live);
  const clock = live.bumpClock;
  if (dueAt === null || performance.now() < dueAt || lowest === undefined || clock === null) return;
  const senderState = await readSenderState(context, lowest.payload);
  const { latestNonce, headNumber } = senderState;
  live.counted = { latestNonce, headNumber };
  clock.lookAt = performance.now() + context.options.pauses.bumpAgainMs;
  if (latestNonce > lowest.nonce || senderState.hasCode) return;
  const gas = gasFor(context, lowest, senderState);
  // The node finds the gas limit wrong, and so would every node that of the replacement.
  if (lowest.refusal === 'gas_limit' && gas === gasLimitOf(newestVariant(lowest).rawTx)) return;
  const fees = feesFor(context, live, { lowest, gas }, senderState);
  if (typeof fees === 'string') {
    if (clock.parked !== fees) {
      const stuck = { attempt: lowest.id, nonce: lowest.nonce, reason: fees };
      context.logger.warn(stuck, 'transaction stuck; cannot replace it now');
    }
    clock.parked = fees;
    return;
  }
  await replace(context, lowest, { ...fees, gas });
  clock.parked = null;
}

type Fees = Pick<Variant, 'maxFeePerGas' | 'maxPriorityFeePerGas'>;

/**
 * Fees of a replacement, in wei per gas. Both fees are at least an eighth above the previous ones (geth's pool requires
 * a tenth) and at least the market's. They are at least twice the previous ones if a node called those underpriced, as
 * some pools require. Never above `cap`; null if that leaves no replacement.
 */
export function raisedFees(
  before: Fees,
  market: Pick<SenderState, 'baseFeePerGas' | 'maxPriorityFeePerGas'>,
  { cap, isUnderpriced }: { cap: bigint; isUnderpriced: boolean },
): Fees | null {
  if (eighthMore(before.maxFeePerGas) > cap) return null;
  const raise = isUnderpriced ? (fee: bigint) => most(2n * fee, 1n) : eighthMore;
  const fee = lesser(cap, most(raise(before.maxFeePerGas), maxFeePerGas(market)));
  const tip = most(raise(before.maxPriorityFeePerGas), market.maxPriorityFeePerGas);
  return { maxFeePerGas: fee, maxPriorityFeePerGas: lesser(fee, tip) };
}

/** The gas limit of a replacement: never below the previous one, and more where a fork raised the price of an anchor. */
function gasFor({ options }: AnchoringContext, lowest: LiveAttempt, { gas }: SenderState): bigint {
  const before = gasLimitOf(newestVariant(lowest).rawTx);
  if (gas.outcome !== 'estimated') return before;
  return most(
    before,
    gasLimit(gas, { payloadBytes: bytesOf(lowest.payload), maxGas: options.maxGas }),
  );
}

function feesFor(
  { key, options }: AnchoringContext,
  live: LiveAttempts,
  { lowest, gas }: { lowest: LiveAttempt; gas: bigint },
  senderState: SenderState,
): Fees | Parking {
  const fees = raisedFees(newestVariant(lowest), senderState, {
    cap: options.maxFeePerGas,
    isUnderpriced: lowest.refusal === 'underpriced',
  });
  if (fees === null) return 'fee_cap';
  if (key === null) return 'no_key';
  const cost = unmined(live).reduce((sum, attempt) => {
    const { rawTx, maxFeePerGas } = newestVariant(attempt);
    if (attempt === lowest) return sum + gas * fees.maxFeePerGas;
    return sum + gasLimitOf(rawTx) * maxFeePerGas;
  }, senderState.dataFeeWei);
  return cost > senderState.balance ? 'underfunded' : fees;
}

/** Signs and stores a replacement. It is durable before any node sees it. */
async function replace(
  context: AnchoringContext,
  attempt: LiveAttempt,
  { gas, ...fees }: Fees & { gas: bigint },
): Promise<void> {
  const { key, store, lease, clock, logger } = context;
  if (key === null) return;
  const before = newestVariant(attempt);
  const variant = { ...(await key.signReplacement(before.rawTx, { ...fees, gas })), ...fees };
  await context.onStep?.('variant_signed');
  await store.addVariant(lease, attempt.id, variant, before.txHash, clock.now());
  attempt.variants.push(variant);
  // From now on the newest variant is broadcast, whichever was mined before.
  attempt.minedTxHash = null;
  attempt.broadcastAt = null;
  attempt.refusal = null;
  const { maxFeePerGas, maxPriorityFeePerGas } = fees;
  logger.info(
    {
      attempt: attempt.id,
      nonce: attempt.nonce,
      tx_hash: variant.txHash,
      max_fee_per_gas: maxFeePerGas.toString(),
      max_priority_fee_per_gas: maxPriorityFeePerGas.toString(),
    },
    'transaction stuck; replaced at higher fees',
  );
  await context.onStep?.('variant_committed');
}

function eighthMore(fee: bigint): bigint {
  return most((9n * fee + 7n) / 8n, 1n);
}

function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
