// Delay before a retry: exponential, with jitter.

export interface BackoffRange {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * Delay after the nth failure in a row (from 1), in milliseconds. It doubles up to the maximum; half of it is random,
 * so that many callers do not retry at the same time.
 */
export function backoffMs(failures: number, range: BackoffRange, random = Math.random): number {
  const full = Math.min(range.firstMs * 2 ** (failures - 1), range.maxMs);
  return full / 2 + (random() * full) / 2;
}
