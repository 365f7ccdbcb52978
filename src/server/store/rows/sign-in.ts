// Converts rows of challenges and sessions, and states the rate limits.

import { limits } from '../../../protocol/limits.ts';
import type { RateCount } from '../../ports/rate-count.ts';
import type { SessionRecord } from '../../ports/sign-in.ts';

export type SessionRow = Omit<SessionRecord, 'isSuspended'> & { suspendedAt: number | null };

export const SESSION_COLUMNS = `id, wallet, signed_in_with AS "signedInWith", created_at AS "createdAt",
  expires_at AS "expiresAt", name, scope, last_used_at AS "lastUsedAt",
  (SELECT coalesce(suspended_at, deleting_at) FROM accounts WHERE accounts.wallet = sessions.wallet)
    AS "suspendedAt"`;

export function toSession({ suspendedAt, ...row }: SessionRow): SessionRecord {
  return { ...row, isSuspended: suspendedAt !== null };
}

/** Kept challenges: of one wallet for one source, and of one source for all wallets. */
export const keptChallenges = { ofWallet: limits.challengesPerSource, ofSource: 1_000 };

/** The period of the daily limit of sign-up grants. */
export const DAY_MS = 24 * 60 * 60_000;

/** The key of the counter of challenge requests. */
export function challengeCounter(wallet: string, device: string | null): string {
  return device === null ? wallet : `${wallet} ${device}`;
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
