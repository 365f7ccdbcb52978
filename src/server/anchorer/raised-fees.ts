import type { Survey } from '../../chain/survey.ts';
import type { Variant } from '../core/anchor-store.ts';
import { maxFeePerGas } from '../core/money.ts';

export type Fees = Pick<Variant, 'maxFeePerGas' | 'maxPriorityFeePerGas'>;

/**
 * Fees of a replacement, in wei per gas: both at least an eighth above the ones before, as geth's pool asks with
 * room to spare, and at least what the market asks; twice the ones before where a node found them underpriced, as
 * some pools ask. Never above `cap`; null where that leaves no replacement.
 */
export function raisedFees(
  before: Fees,
  market: Pick<Survey, 'baseFeePerGas' | 'maxPriorityFeePerGas'>,
  { cap, isUnderpriced }: { cap: bigint; isUnderpriced: boolean },
): Fees | null {
  if (eighthMore(before.maxFeePerGas) > cap) return null;
  const raise = isUnderpriced ? twice : eighthMore;
  const fee = least(cap, most(raise(before.maxFeePerGas), maxFeePerGas(market)));
  const tip = most(raise(before.maxPriorityFeePerGas), market.maxPriorityFeePerGas);
  return { maxFeePerGas: fee, maxPriorityFeePerGas: least(fee, tip) };
}

function eighthMore(fee: bigint): bigint {
  return (9n * fee + 7n) / 8n;
}

function twice(fee: bigint): bigint {
  return 2n * fee;
}

function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
