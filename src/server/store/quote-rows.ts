import type { FeeQuote } from '../core/anchor-store.ts';

export interface QuoteRow {
  single_gas: string | null;
  base_fee_per_gas: string | null;
  max_priority_fee_per_gas: string | null;
  data_fee_wei: string | null;
}

export function toQuote(row: QuoteRow): FeeQuote | null {
  const { single_gas, base_fee_per_gas, max_priority_fee_per_gas, data_fee_wei } = row;
  if (
    single_gas === null ||
    base_fee_per_gas === null ||
    max_priority_fee_per_gas === null ||
    data_fee_wei === null
  ) {
    return null;
  }
  return {
    singleGas: BigInt(single_gas),
    baseFeePerGas: BigInt(base_fee_per_gas),
    maxPriorityFeePerGas: BigInt(max_priority_fee_per_gas),
    dataFeeWei: BigInt(data_fee_wei),
  };
}
