import type { Database } from 'better-sqlite3';
import { limits } from '../../../protocol/limits.ts';
import type { SignInMethod } from '../../core/account-store.ts';
import type { NewSession } from '../../core/ports.ts';

/** How many one write ends: more than it adds, and never many. */
const ENDED_PER_WRITE = 10;

/**
 * Opens a session, and ends the account's oldest beyond its limit, never the new one: a clock that went
 * back makes it look old. Use it inside a write. All sessions last equally long and ids are UUIDv7, so those
 * that expired are older than any that lives.
 */
export function sessionOpener(
  writer: Database,
): (session: NewSession, wallet: string, signedInWith: SignInMethod) => void {
  const insert = writer.prepare<[Record<string, string | number>]>(
    `INSERT INTO sessions (id, token_hash, wallet, created_at, expires_at, signed_in_with)
     VALUES (:id, :tokenHash, :wallet, :createdAt, :expiresAt, :signedInWith)`,
  );
  const beyond = writer.prepare<[string, number, number]>(
    'SELECT 1 FROM sessions WHERE wallet = ? LIMIT ? OFFSET ?',
  );
  const endOldest = writer.prepare<[string, string, number]>(
    `DELETE FROM sessions WHERE id IN
       (SELECT id FROM sessions WHERE wallet = ? AND id <> ? ORDER BY id LIMIT ?)`,
  );
  return (session, wallet, signedInWith) => {
    insert.run({ ...session, wallet, signedInWith });
    const excess = beyond.all(wallet, ENDED_PER_WRITE, limits.sessionsPerAccount).length;
    if (excess > 0) endOldest.run(wallet, session.id, excess);
  };
}
