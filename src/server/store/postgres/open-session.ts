import { limits } from '../../../protocol/limits.ts';
import type { SignInMethod } from '../../core/account-store.ts';
import type { NewSession } from '../../core/ports.ts';
import type { Queries } from './connections.ts';
import { sql } from './sql.ts';

/** How many one write ends: more than it adds, and never many. */
const ENDED_PER_WRITE = 10;

const open = sql(`WITH opened AS (
    INSERT INTO sessions (id, token_hash, wallet, created_at, expires_at, signed_in_with)
    VALUES ($1, $2, $3, $4, $5, $6)
  )
  DELETE FROM sessions WHERE id IN (
    SELECT id FROM sessions WHERE wallet = $3 ORDER BY id DESC
    OFFSET ${limits.sessionsPerAccount - 1} LIMIT ${ENDED_PER_WRITE})`);

/**
 * Opens a session, and ends the account's oldest beyond its limit, never the new one: a clock that went back makes it
 * look old. Inside a write that has locked the account. All sessions last equally long and ids are UUIDv7, so those
 * that expired are older than any that lives.
 */
export async function openSession(
  tx: Queries,
  { id, tokenHash, createdAt, expiresAt }: NewSession,
  wallet: string,
  signedInWith: SignInMethod,
): Promise<void> {
  await tx.run(open, [id, tokenHash, wallet, createdAt, expiresAt, signedInWith]);
}
