// Converts rows of challenges and sessions, and states the rate limits.

import { limits } from '../../../protocol/limits.ts';
import type { RateCount } from '../../ports/rate-count.ts';
import type { Challenge, SessionRecord } from '../../ports/sign-in.ts';

export interface ChallengeRow {
  nonce: string;
  wallet: string;
  message: string;
  created_at: number;
  expires_at: number;
}

export interface SessionRow {
  id: string;
  wallet: string;
  created_at: number;
  expires_at: number;
}

export function toChallenge(row: ChallengeRow): Challenge {
  return {
    nonce: row.nonce,
    wallet: row.wallet,
    message: row.message,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

export function toSession(row: SessionRow): SessionRecord {
  return {
    id: row.id,
    wallet: row.wallet,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

/** Calls allowed per window. */
export const rateLimits = {
  challenge: limits.challengesPerWindow,
  account: limits.accountMutationsPerWindow,
  robot: limits.robotCallsPerWindow,
} as const;

export type RateScope = keyof typeof rateLimits;

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
