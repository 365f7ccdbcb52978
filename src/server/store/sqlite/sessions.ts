// Stores sessions, account tokens and the codes that sign the command line in.

import type { Database } from 'better-sqlite3';
import { limits } from '../../../protocol/limits.ts';
import type { Actor } from '../../ports/audit-log.ts';
import type { NewCliCode, NewSession, SessionStore, SignInMethod } from '../../ports/sign-in.ts';
import { hasRoomForToken } from '../../rules/fleets.ts';
import {
  type CliCodeRow,
  SESSION_COLUMNS,
  type SessionRow,
  toCliCode,
  toSession,
} from '../rows/sign-in.ts';
import { auditRecorder } from './audit-log.ts';
import type { Access } from './engine/connections.ts';

/** Sorts after every id. */
const AFTER_ALL_IDS = 'g';

/** Expired codes deleted per write: more than a write adds, and few enough to be quick. */
const PURGED_PER_WRITE = 10;

/** Sessions ended per write: more than a write adds, and few enough to be quick. */
const ENDED_PER_WRITE = 10;

export function sessionStore(access: Access): SessionStore {
  const { reader, writer, write, read } = access;
  const record = auditRecorder(writer);
  const sessions = reader.prepare<[string, string, number, number, number], SessionRow>(
    `SELECT ${SESSION_COLUMNS} FROM sessions
     WHERE wallet = ? AND id < ? AND expires_at > ? AND (scope IS NOT NULL) = ?
     ORDER BY id DESC LIMIT ?`,
  );
  const endSession = writer.prepare<[string, string, number], { name: string | null }>(
    'DELETE FROM sessions WHERE id = ? AND wallet = ? AND (scope IS NOT NULL) = ? RETURNING name',
  );
  const liveTokens = writer.prepare<[string, number], { tokens: number }>(
    `SELECT count(*) AS tokens FROM sessions
     WHERE wallet = ? AND scope IS NOT NULL AND expires_at > ?`,
  );
  const insertToken = writer.prepare<[object]>(
    `INSERT INTO sessions
       (id, token_hash, wallet, created_at, expires_at, signed_in_with, name, scope)
     VALUES (:id, :tokenHash, :wallet, :createdAt, :expiresAt, 'token', :name, :scope)`,
  );
  const noteUse = writer.prepare<[number, string, number]>(
    `UPDATE sessions SET last_used_at = ?
     WHERE id = ? AND (last_used_at IS NULL OR last_used_at <= ?)`,
  );

  return {
    listSessions: (wallet, now, limit, before, tokens = false) =>
      read(() =>
        sessions.all(wallet, before ?? AFTER_ALL_IDS, now, Number(tokens), limit).map(toSession),
      ),

    endSession: (wallet, id, by, token = false) =>
      write(() => {
        const ended = endSession.get(id, wallet, Number(token));
        if (ended === undefined) return false;
        const kind = token ? 'token_revoked' : 'session_revoked';
        record(wallet, kind, by, { target_id: id, detail: ended.name });
        return true;
      }),

    createToken: (token, by) =>
      write(() => {
        const { id, wallet, name, createdAt } = token;
        if (!hasRoomForToken(liveTokens.get(wallet, createdAt)?.tokens ?? 0)) return false;
        insertToken.run(token);
        record(wallet, 'token_created', by, { target_id: id, detail: name });
        return true;
      }),

    noteTokenUse: (id, now) =>
      write(() => {
        noteUse.run(now, id, now - limits.windowMs);
      }),

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
): (session: NewSession, wallet: string, signedInWith: SignInMethod, by?: Actor) => void {
  const record = auditRecorder(writer);
  const insert = writer.prepare<[Record<string, string | number>]>(
    `INSERT INTO sessions (id, token_hash, wallet, created_at, expires_at, signed_in_with)
     VALUES (:id, :tokenHash, :wallet, :createdAt, :expiresAt, :signedInWith)`,
  );
  const beyond = writer.prepare<[string, number, number]>(
    'SELECT 1 FROM sessions WHERE wallet = ? AND scope IS NULL LIMIT ? OFFSET ?',
  );
  const endOldest = writer.prepare<[string, string, number]>(
    `DELETE FROM sessions WHERE id IN
       (SELECT id FROM sessions WHERE wallet = ? AND scope IS NULL AND id <> ?
        ORDER BY id LIMIT ?)`,
  );
  return (session, wallet, signedInWith, by) => {
    insert.run({ ...session, wallet, signedInWith });
    record(wallet, 'sign_in', by, { target_id: session.id, detail: signedInWith });
    const excess = beyond.all(wallet, ENDED_PER_WRITE, limits.sessionsPerAccount).length;
    if (excess > 0) endOldest.run(wallet, session.id, excess);
  };
}

function cliCodes({
  reader,
  writer,
  read,
  write,
}: Access): Pick<SessionStore, 'saveCliCode' | 'decideCliCode' | 'redeemCliCode'> {
  const liveSession = writer.prepare<
    [string, number],
    { wallet: string; signed_in_with: SignInMethod; wrong_codes: number }
  >('SELECT wallet, signed_in_with, wrong_codes FROM sessions WHERE id = ? AND expires_at > ?');
  const beyond = writer.prepare<[number, number]>(
    'SELECT 1 FROM cli_codes WHERE expires_at > ? LIMIT 1 OFFSET ?',
  );
  const evict = writer.prepare<[]>(
    `DELETE FROM cli_codes WHERE device_hash = (
       SELECT device_hash FROM cli_codes WHERE source = (
         SELECT source FROM cli_codes GROUP BY source ORDER BY count(*) DESC, source LIMIT 1)
       ORDER BY expires_at LIMIT 1)`,
  );
  const beyondSource = writer.prepare<[string, number, number]>(
    'SELECT 1 FROM cli_codes WHERE source = ? AND expires_at > ? LIMIT 1 OFFSET ?',
  );
  const purge = writer.prepare<[number, number]>(
    `DELETE FROM cli_codes WHERE device_hash IN
       (SELECT device_hash FROM cli_codes WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
  );
  const insert = writer.prepare<[NewCliCode]>(
    `INSERT OR IGNORE INTO cli_codes (device_hash, user_hash, source, name, created_at, expires_at)
     VALUES (:deviceHash, :userHash, :source, :name, :createdAt, :expiresAt)`,
  );
  const undecided = writer.prepare<[string, number], CliCodeRow>(
    `SELECT device_hash, name, created_at, expires_at FROM cli_codes
     WHERE user_hash = ? AND expires_at > ? AND session_id IS NULL`,
  );
  const countWrong = writer.prepare<[string]>(
    'UPDATE sessions SET wrong_codes = wrong_codes + 1 WHERE id = ?',
  );
  const allow = writer.prepare<[string, string]>(
    'UPDATE cli_codes SET session_id = ? WHERE device_hash = ?',
  );
  const remove = writer.prepare<[string]>('DELETE FROM cli_codes WHERE device_hash = ?');
  const find = (db: Database) =>
    db.prepare<[string, number], { session_id: string | null }>(
      'SELECT session_id FROM cli_codes WHERE device_hash = ? AND expires_at > ?',
    );
  const [known, allowed] = [find(reader), find(writer)];
  const openSession = sessionOpener(writer);

  return {
    saveCliCode: (code) =>
      write(() => {
        purge.run(code.createdAt, PURGED_PER_WRITE);
        const { source, createdAt } = code;
        if (beyondSource.get(source, createdAt, limits.openCliCodesOfSource - 1)) return false;
        if (beyond.get(createdAt, limits.openCliCodes - 1)) evict.run();
        return insert.run(code).changes > 0;
      }),

    decideCliCode: ({ userHash, decision, sessionId, now }) =>
      write(() => {
        const session = liveSession.get(sessionId, now);
        if (session === undefined) return 'session_ended';
        if (session.signed_in_with !== 'wallet') return 'not_by_wallet';
        if (session.wrong_codes >= limits.wrongCliCodes) return 'too_many_wrong';
        const code = undecided.get(userHash, now);
        if (code === undefined) {
          countWrong.run(sessionId);
          return 'unknown';
        }
        if (decision === 'allow') allow.run(sessionId, code.device_hash);
        if (decision === 'refuse') remove.run(code.device_hash);
        return toCliCode(code);
      }),

    redeemCliCode: async ({ deviceHash, session, now, by }) => {
      // Anyone can invent codes and ask for them often, so only an allowed one gets a write.
      const found = await read(() => known.get(deviceHash, now));
      if (found === undefined) return 'unknown';
      if (found.session_id === null) return 'pending';
      return write(() => {
        const code = allowed.get(deviceHash, now);
        remove.run(deviceHash);
        const issuer = code?.session_id ? liveSession.get(code.session_id, now) : undefined;
        if (issuer === undefined) return 'unknown';
        openSession(session, issuer.wallet, 'cli_code', by);
        return { wallet: issuer.wallet };
      });
    },
  };
}
