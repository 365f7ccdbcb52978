import { limits } from '../../protocol/limits.ts';
import type { RateCount } from '../core/ports.ts';

/** Calls per window. */
export const rateLimits = {
  challenge: limits.challengesPerWindow,
  account: limits.accountMutationsPerWindow,
  robot: limits.robotCallsPerWindow,
} as const;

export type RateScope = keyof typeof rateLimits;

/** What was counted in the window of `now`; windows begin with the minutes of the clock. */
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
