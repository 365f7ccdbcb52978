// What a completion reserves and what it is charged.
import type { FeeQuote } from '../ports/anchoring.ts';

/**
 * What a completion reserves: the gas of a single at the highest price its first variant may pay
 * (twice the base fee, plus the tip), plus the estimated data fee. In wei.
 */
export function reservation(quote: FeeQuote): bigint {
  return quote.singleGas * maxFeePerGas(quote) + quote.dataFeeWei;
}

/** Highest price per gas of an attempt's first variant, in wei. */
export function maxFeePerGas(
  quote: Pick<FeeQuote, 'baseFeePerGas' | 'maxPriorityFeePerGas'>,
): bigint {
  return 2n * quote.baseFeePerGas + quote.maxPriorityFeePerGas;
}

/** What a mined transaction cost in all, in wei. */
export function transactionCost(mined: {
  gasUsed: bigint;
  effectiveGasPrice: bigint;
  dataFeeWei: bigint;
}): bigint {
  return mined.gasUsed * mined.effectiveGasPrice + mined.dataFeeWei;
}

/**
 * One leaf's charge, in wei: its share of the cost, never more than was reserved. The share is integer
 * division and the first leaf bears the remainder. The operator pays what a reservation does not cover.
 */
export function chargeOf(
  cost: bigint,
  leaf: { index: number; count: number; reservedWei: bigint },
): bigint {
  const count = BigInt(leaf.count);
  const share = cost / count + (leaf.index === 0 ? cost % count : 0n);
  return share < leaf.reservedWei ? share : leaf.reservedWei;
}
