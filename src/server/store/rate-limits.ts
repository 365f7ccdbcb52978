// Names the rate limits, and reports the state of their counters, which each database counts in its way.

import { limits } from '../../protocol/limits.ts';
import type { RateCount } from '../ports/sign-in.ts';

/** Calls allowed per window. */
export const rateLimits = {
  challenge: limits.challengesPerWindow,
  account: limits.accountMutationsPerWindow,
  robot: limits.robotCallsPerWindow,
  batch: limits.batchItemsPerWindow,
} as const;

export type RateScope = keyof typeof rateLimits;

/** The key of the counter of challenge requests. */
export function challengeCounter(wallet: string, device: string | null): string {
  return device === null ? wallet : `${wallet} ${device}`;
}

/** The state of a counter in the window of `now`. Windows start at full minutes of the clock. */
export function rateCount(
  scope: RateScope,
  { used, allowed, now }: { used: number; allowed: boolean; now: number },
): RateCount {
  const limit = rateLimits[scope];
  return {
    allowed,
    limit,
    remaining: limit - used,
    resetMs: limits.windowMs - (now % limits.windowMs),
  };
}
