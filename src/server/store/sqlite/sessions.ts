// Stores sessions and the one-time codes that hand a session to the command line.

import type { Database } from 'better-sqlite3';
import { limits } from '../../../protocol/limits.ts';
import type { NewSession, SessionStore, SignInMethod } from '../../ports/sign-in.ts';
import { type ListedSessionRow, toListedSession } from '../rows/account.ts';
import type { Access } from './engine/connections.ts';

/** Sorts after every id. */
const AFTER_ALL_IDS = 'g';

/** Expired codes deleted per write: more than a write adds, and few enough to be quick. */
const PURGED_PER_WRITE = 10;

/** Sessions ended per write: more than a write adds, and few enough to be quick. */
const ENDED_PER_WRITE = 10;

export function sessionStore(access: Access): SessionStore {
  const { reader, writer, write, read } = access;
  const sessions = reader.prepare<[string, string, number, number], ListedSessionRow>(
    `SELECT id, signed_in_with, created_at, expires_at FROM sessions
     WHERE wallet = ? AND id < ? AND expires_at > ? ORDER BY id DESC LIMIT ?`,
  );
  const endSession = writer.prepare<[string, string]>(
    'DELETE FROM sessions WHERE id = ? AND wallet = ?',
  );

  return {
    listSessions: (wallet, now, limit, before) =>
      read(() => sessions.all(wallet, before ?? AFTER_ALL_IDS, now, limit).map(toListedSession)),

    endSession: (wallet, id) => write(() => endSession.run(id, wallet).changes > 0),

    ...cliCodes(access),
  };
}

/**
 * Opens a session and ends the account's oldest sessions beyond its limit. It never ends the new session, which looks
 * old if the clock went back. All sessions last equally long and ids are UUIDv7, so expired sessions are older than
 * live ones. Call it inside a write.
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

function cliCodes({
  reader,
  writer,
  read,
  write,
}: Access): Pick<SessionStore, 'saveCliCode' | 'redeemCliCode'> {
  const liveSession = writer.prepare<
    [string, number],
    { wallet: string; signed_in_with: SignInMethod }
  >('SELECT wallet, signed_in_with FROM sessions WHERE id = ? AND expires_at > ?');
  const purge = writer.prepare<[number, number]>(
    `DELETE FROM cli_codes WHERE code_hash IN
       (SELECT code_hash FROM cli_codes WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
  );
  const insert = writer.prepare<[string, string, string, number]>(
    'INSERT INTO cli_codes (code_hash, challenge, session_id, expires_at) VALUES (?, ?, ?, ?)',
  );
  const known = reader.prepare<[string]>('SELECT 1 FROM cli_codes WHERE code_hash = ?');
  const spend = writer.prepare<
    [string],
    { challenge: string; session_id: string; expires_at: number }
  >('DELETE FROM cli_codes WHERE code_hash = ? RETURNING challenge, session_id, expires_at');
  const openSession = sessionOpener(writer);

  return {
    saveCliCode: ({ codeHash, challenge, sessionId, createdAt, expiresAt }) =>
      write(() => {
        const issuer = liveSession.get(sessionId, createdAt);
        if (issuer === undefined) return 'session_ended';
        if (issuer.signed_in_with !== 'wallet') return 'not_by_wallet';
        purge.run(createdAt, PURGED_PER_WRITE);
        insert.run(codeHash, challenge, sessionId, expiresAt);
        return 'saved';
      }),

    redeemCliCode: async ({ codeHash, challenge, session, now }) => {
      // Anyone can invent codes, so only an existing one gets a write.
      const exists = await read(() => known.get(codeHash) !== undefined);
      if (!exists) return null;
      return write(() => {
        const code = spend.get(codeHash);
        if (code === undefined || code.expires_at <= now || code.challenge !== challenge) {
          return null;
        }
        const issuer = liveSession.get(code.session_id, now);
        if (issuer === undefined) return null;
        openSession(session, issuer.wallet, 'cli_code');
        return { wallet: issuer.wallet };
      });
    },
  };
}
