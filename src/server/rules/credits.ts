// Decides whether an account can pay for a completion, what it is charged, and when it gets its sign-up grant.
import type { Balance } from '../ports/account.ts';
import type { FeeQuote, MinedVariant } from '../ports/anchoring.ts';
import type { QueueOutcome } from '../ports/completions.ts';
import type { SignupGrant } from '../ports/sign-in.ts';

/**
 * The reservation of a completion, in wei: the gas of a single at the highest price that its first variant may pay
 * (twice the base fee, plus the tip), plus the estimated data fee.
 */
export function reservation(quote: FeeQuote): bigint {
  return quote.singleGas * maxFeePerGas(quote) + quote.dataFeeWei;
}

export type Credits = Pick<Balance, 'anchorQuota' | 'gasCreditWei'>;

/**
 * A completion costs one anchor of the quota and the reserved gas. No balance: the account does not exist. No quote: fees
 * were never read from the chain.
 */
export function decidePayment(balance: Credits | null, quote: FeeQuote | null) {
  if (balance === null || balance.anchorQuota < 1) return { outcome: 'no_anchor_quota' } as const;
  if (quote === null) return { outcome: 'no_fee_quote' } as const;
  const gasWei = reservation(quote);
  if (balance.gasCreditWei < gasWei) return { outcome: 'no_gas_credit' } as const;
  return { outcome: 'paid', gasWei } as const;
}

export function lacksCredit({ outcome }: Pick<QueueOutcome, 'outcome'>): boolean {
  return outcome === 'no_anchor_quota' || outcome === 'no_gas_credit';
}

/** Completions that a balance covers. */
export function affordableAnchors(quota: number, gasWei: bigint, reservedWei: bigint): number {
  const byGas = reservedWei === 0n ? BigInt(quota) : gasWei / reservedWei;
  return byGas < BigInt(quota) ? Number(byGas) : quota;
}

/** Highest price per gas of an attempt's first variant, in wei. */
export function maxFeePerGas(quote: Pick<FeeQuote, 'baseFeePerGas' | 'maxPriorityFeePerGas'>) {
  return 2n * quote.baseFeePerGas + quote.maxPriorityFeePerGas;
}

/** Whether one person with many wallets can collect sign-up grants at once, or without a limit. */
export function isGrantUnbounded({ anchors, gasWei, delayMs, anchorsPerDay }: SignupGrant) {
  return (anchors > 0 || gasWei > 0n) && (delayMs === 0 || anchorsPerDay === null);
}

/** Whether the sign-up grant of a wallet that qualifies is due. `grantedToday`: anchors, to all wallets in 24 hours. */
export function isSignupGrantDue(
  { anchors, delayMs, anchorsPerDay }: SignupGrant,
  { qualifiedAt, grantedToday, now }: { qualifiedAt: number; grantedToday: number; now: number },
): boolean {
  if (now - qualifiedAt < delayMs) return false;
  return anchorsPerDay === null || grantedToday + anchors <= anchorsPerDay;
}

/** Highest gas limit of a transaction since the Osaka fork (EIP-7825). */
const TRANSACTION_GAS_LIMIT = 2n ** 24n;

/**
 * The gas limit of an anchor. It leaves room for a fork that changes prices, and for an L2 whose gas depends on its
 * state; unused gas costs nothing. `most`: the gas limit of a block.
 */
export function gasLimit(
  { gas, most }: { gas: bigint; most: bigint },
  { payloadBytes, maxGas }: { payloadBytes: number; maxGas: bigint },
): bigint {
  const byBytes = gasByBytes(payloadBytes);
  const ample = gas + gas / 4n;
  const limits = [ample > byBytes ? ample : byBytes, most / 4n, TRANSACTION_GAS_LIMIT, maxGas];
  return limits.reduce((a, b) => (a < b ? a : b));
}

/** More than the gas of an anchor on Ethereum. */
export function gasByBytes(payloadBytes: number): bigint {
  return 21_000n + 64n * BigInt(payloadBytes);
}

/** Total cost of a mined transaction, in wei. */
export function transactionCost(
  mined: Pick<MinedVariant, 'gasUsed' | 'effectiveGasPrice' | 'dataFeeWei'>,
): bigint {
  return mined.gasUsed * mined.effectiveGasPrice + mined.dataFeeWei;
}

/**
 * The charge of one leaf, in wei: its share of the cost, at most its reservation. Shares are integer divisions; the
 * first leaf also bears the remainder. The operator pays what reservations do not cover.
 */
export function chargeOf(
  cost: bigint,
  leaf: { index: number; count: number; reservedWei: bigint },
): bigint {
  const count = BigInt(leaf.count);
  const share = cost / count + (leaf.index === 0 ? cost % count : 0n);
  return share < leaf.reservedWei ? share : leaf.reservedWei;
}
