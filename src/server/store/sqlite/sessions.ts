import type { Database } from 'better-sqlite3';
import { limits } from '../../../protocol/limits.ts';
import type { NewSession, SessionStore, SignInMethod } from '../../ports/sign-in.ts';
import { type ListedSessionRow, toListedSession } from '../rows/account.ts';
import type { Access } from './engine/connections.ts';

/** Greater than any id. */
const AFTER_ALL_IDS = 'g';

/** How many expired codes one write forgets: more than it adds, and never many. */
const PURGED_PER_WRITE = 10;

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
        const maker = liveSession.get(sessionId, createdAt);
        if (maker === undefined) return 'session_ended';
        if (maker.signed_in_with !== 'wallet') return 'not_by_wallet';
        purge.run(createdAt, PURGED_PER_WRITE);
        insert.run(codeHash, challenge, sessionId, expiresAt);
        return 'saved';
      }),

    redeemCliCode: async ({ codeHash, challenge, session, now }) => {
      // Anybody can make codes up; only one that exists is worth a write.
      const exists = await read(() => known.get(codeHash) !== undefined);
      if (!exists) return null;
      return write(() => {
        const code = spend.get(codeHash);
        if (code === undefined || code.expires_at <= now || code.challenge !== challenge) {
          return null;
        }
        const maker = liveSession.get(code.session_id, now);
        if (maker === undefined) return null;
        openSession(session, maker.wallet, 'cli_code');
        return { wallet: maker.wallet };
      });
    },
  };
}

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
