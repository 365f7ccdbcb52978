import type { Challenge, SessionRecord } from '../core/ports.ts';

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
