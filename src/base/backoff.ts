// Delay before a retry: exponential, with jitter.
export interface BackoffRange {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * How long to wait after the nth failure in a row (from 1): doubling up to the maximum, of which a
 * random half keeps many callers from coming back together.
 */
export function backoffMs(failures: number, range: BackoffRange, random = Math.random): number {
  const full = Math.min(range.firstMs * 2 ** (failures - 1), range.maxMs);
  return full / 2 + (random() * full) / 2;
}
