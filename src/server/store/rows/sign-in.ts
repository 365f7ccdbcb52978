// Converts rows of challenges and sessions, and states the rate limits.

import { limits } from '../../../protocol/limits.ts';
import type { RateCount } from '../../ports/rate-count.ts';
import type { Challenge, CliCode, SessionRecord, SignupGrant } from '../../ports/sign-in.ts';
import type { GrantEntry } from './account.ts';

export interface ChallengeRow {
  nonce: string;
  wallet: string;
  message: string;
  expires_at: number;
}

export interface SessionRow extends Pick<SessionRecord, 'id' | 'wallet' | 'name' | 'scope'> {
  signed_in_with: SessionRecord['signedInWith'];
  created_at: number;
  expires_at: number;
  last_used_at: number | null;
  suspended_at: number | null;
}

export const SESSION_COLUMNS = `id, wallet, signed_in_with, created_at, expires_at, name, scope, last_used_at,
  (SELECT coalesce(suspended_at, deleting_at) FROM accounts WHERE accounts.wallet = sessions.wallet) AS suspended_at`;

export function toChallenge(row: ChallengeRow): Challenge {
  return {
    nonce: row.nonce,
    wallet: row.wallet,
    message: row.message,
    expiresAt: row.expires_at,
  };
}

export function toSession(row: SessionRow): SessionRecord {
  return {
    id: row.id,
    wallet: row.wallet,
    signedInWith: row.signed_in_with,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    name: row.name,
    scope: row.scope,
    lastUsedAt: row.last_used_at,
    isSuspended: row.suspended_at !== null,
  };
}

/** Kept challenges: of one wallet for one source, and of one source for all wallets. */
export const keptChallenges = { ofWallet: limits.challengesTried, ofSource: 1_000 };

/** The period of the daily limit of sign-up grants. */
export const DAY_MS = 24 * 60 * 60_000;

/** The key of the counter of challenge requests. */
export function challengeCounter(wallet: string, device: string | null): string {
  return device === null ? wallet : `${wallet} ${device}`;
}

/** The ledger entry of a sign-up grant. The id is that of the wallet, so that it is granted once. */
export function signupEntry(
  wallet: string,
  { anchors, gasWei }: SignupGrant,
  at: number,
): GrantEntry {
  return {
    kind: 'grant',
    wallet,
    anchors,
    gasWei,
    grantId: `signup:${wallet}`,
    note: 'signup',
    at,
  };
}

export interface CliCodeRow {
  device_hash: string;
  name: string;
  created_at: number;
  expires_at: number;
}

export function toCliCode({ name, created_at, expires_at }: CliCodeRow): CliCode {
  return { name, createdAt: created_at, expiresAt: expires_at };
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
