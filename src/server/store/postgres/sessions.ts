// Stores sessions, account tokens and the codes that sign the command line in.

import { limits } from '../../../protocol/limits.ts';
import type { Actor } from '../../ports/audit-log.ts';
import type { NewSession, SessionStore, SignInMethod } from '../../ports/sign-in.ts';
import { hasRoomForToken } from '../../rules/fleets.ts';
import {
  type CliCodeRow,
  SESSION_COLUMNS,
  type SessionRow,
  toCliCode,
  toSession,
} from '../rows/sign-in.ts';
import { lockAccount } from './account.ts';
import { recordAudit } from './audit-log.ts';
import type { Queries } from './engine/connections.ts';
import { LAST_UUID, sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';

/** Expired codes deleted per write: more than a write adds, and few enough to be quick. */
const PURGED_PER_WRITE = 10;
/** Sessions ended per write: more than a write adds, and few enough to be quick. */
const ENDED_PER_WRITE = 10;

const listSessions = sql(`SELECT ${SESSION_COLUMNS} FROM sessions
  WHERE wallet = $1 AND id < $2 AND expires_at > $3 AND (scope IS NOT NULL) = $4
  ORDER BY id DESC LIMIT $5`);
const endSession = sql(`DELETE FROM sessions
  WHERE id = $1 AND wallet = $2 AND (scope IS NOT NULL) = $3 RETURNING name`);
const countTokens = sql(`SELECT count(*) AS tokens FROM sessions
  WHERE wallet = $1 AND scope IS NOT NULL AND expires_at > $2`);
const insertToken = sql(`INSERT INTO sessions
    (id, token_hash, wallet, created_at, expires_at, signed_in_with, name, scope)
  VALUES ($1, $2, $3, $4, $5, 'token', $6, $7)`);
const noteUse = sql(`UPDATE sessions SET last_used_at = $2
  WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)`);

const open = sql(`WITH opened AS (
    INSERT INTO sessions (id, token_hash, wallet, created_at, expires_at, signed_in_with)
    VALUES ($1, $2, $3, $4, $5, $6)
  )
  DELETE FROM sessions WHERE id IN (
    SELECT id FROM sessions WHERE wallet = $3 AND scope IS NULL ORDER BY id DESC
    OFFSET ${limits.sessionsPerAccount - 1} LIMIT ${ENDED_PER_WRITE})`);

const saveCode = sql(`WITH purged AS (
    DELETE FROM cli_codes WHERE device_hash IN (
      SELECT device_hash FROM cli_codes WHERE expires_at <= $4 ORDER BY expires_at
      LIMIT ${PURGED_PER_WRITE} FOR UPDATE SKIP LOCKED)
  ), evicted AS (
    DELETE FROM cli_codes WHERE device_hash = (
      SELECT device_hash FROM cli_codes WHERE source = (
        SELECT source FROM cli_codes GROUP BY source ORDER BY count(*) DESC, source LIMIT 1)
      ORDER BY expires_at LIMIT 1)
    AND EXISTS (
      SELECT FROM cli_codes WHERE expires_at > $4 OFFSET ${limits.openCliCodes - 1} LIMIT 1)
  )
  INSERT INTO cli_codes (device_hash, user_hash, name, created_at, expires_at, source)
  SELECT $1, $2, $3, $4::bigint, $5::bigint, $6
  WHERE NOT EXISTS (SELECT FROM cli_codes WHERE source = $6 AND expires_at > $4
    OFFSET ${limits.openCliCodesOfSource - 1} LIMIT 1)
  ON CONFLICT DO NOTHING`);
// FOR UPDATE waits for a transaction that is ending the session, and counts concurrent guesses one after the other.
const liveSession = sql(`SELECT signed_in_with, wrong_codes FROM sessions
  WHERE id = $1 AND expires_at > $2 FOR UPDATE`);
const undecided = sql(`SELECT device_hash, name, created_at, expires_at FROM cli_codes
  WHERE user_hash = $1 AND expires_at > $2 AND session_id IS NULL FOR UPDATE`);
const countWrong = sql('UPDATE sessions SET wrong_codes = wrong_codes + 1 WHERE id = $1');
const allow = sql('UPDATE cli_codes SET session_id = $1 WHERE device_hash = $2');
const remove = sql('DELETE FROM cli_codes WHERE device_hash = $1');

// The wallet is null if the code is pending, or if the session that allowed it has ended.
const findCode = sql(`SELECT c.session_id, s.wallet
  FROM cli_codes c LEFT JOIN sessions s ON s.id = c.session_id
  WHERE c.device_hash = $1 AND c.expires_at > $2`);
const keepIssuer = sql('SELECT FROM sessions WHERE id = $1 AND expires_at > $2 FOR SHARE');

export function sessionStore(access: Access): SessionStore {
  return {
    async listSessions(wallet, now, limit, before, tokens = false) {
      const values = [wallet, before ?? LAST_UUID, now, tokens, limit];
      return (await access.rows<SessionRow>(listSessions, values)).map(toSession);
    },

    endSession: (wallet, id, by, token = false) =>
      access.write(async (tx) => {
        const ended = await tx.first<{ name: string | null }>(endSession, [id, wallet, token]);
        if (ended === undefined) return false;
        const kind = token ? 'token_revoked' : 'session_revoked';
        await recordAudit(tx, wallet, kind, by, { target_id: id, detail: ended.name });
        return true;
      }),

    createToken: ({ id, tokenHash, wallet, name, scope, createdAt, expiresAt }, by) =>
      access.write(async (tx) => {
        await lockAccount(tx, wallet);
        const live = await tx.first<{ tokens: number }>(countTokens, [wallet, createdAt]);
        if (!hasRoomForToken(live?.tokens ?? 0)) return false;
        await tx.run(insertToken, [id, tokenHash, wallet, createdAt, expiresAt, name, scope]);
        await recordAudit(tx, wallet, 'token_created', by, { target_id: id, detail: name });
        return true;
      }),

    async noteTokenUse(id, now) {
      await access.run(noteUse, [id, now, now - limits.windowMs]);
    },

    ...cliCodes(access),
  };
}

/**
 * Opens a session and ends the account's oldest sessions beyond its limit. It never ends the new session, which looks
 * old if the clock went back. All sessions last equally long and ids are UUIDv7, so expired sessions are older than
 * live ones. Call it inside a write that has locked the account.
 */
export async function openSession(
  tx: Queries,
  { id, tokenHash, createdAt, expiresAt }: NewSession,
  wallet: string,
  signedInWith: SignInMethod,
  by?: Actor,
): Promise<void> {
  await tx.run(open, [id, tokenHash, wallet, createdAt, expiresAt, signedInWith]);
  await recordAudit(tx, wallet, 'sign_in', by, { target_id: id, detail: signedInWith });
}

function cliCodes(
  access: Access,
): Pick<SessionStore, 'saveCliCode' | 'decideCliCode' | 'redeemCliCode'> {
  return {
    saveCliCode: async ({ deviceHash, userHash, source, name, createdAt, expiresAt }) =>
      (await access.run(saveCode, [deviceHash, userHash, name, createdAt, expiresAt, source])) > 0,

    decideCliCode: ({ userHash, decision, sessionId, now }) =>
      access.write(async (tx) => {
        const session = await tx.first<{ signed_in_with: SignInMethod; wrong_codes: number }>(
          liveSession,
          [sessionId, now],
        );
        if (session === undefined) return 'session_ended';
        if (session.signed_in_with !== 'wallet') return 'not_by_wallet';
        if (session.wrong_codes >= limits.wrongCliCodes) return 'too_many_wrong';
        const code = await tx.first<CliCodeRow>(undecided, [userHash, now]);
        if (code === undefined) {
          await tx.run(countWrong, [sessionId]);
          return 'unknown';
        }
        if (decision === 'allow') await tx.run(allow, [sessionId, code.device_hash]);
        if (decision === 'refuse') await tx.run(remove, [code.device_hash]);
        return toCliCode(code);
      }),

    async redeemCliCode({ deviceHash, session, now, by }) {
      type Found = { session_id: string | null; wallet: string | null };
      // Anyone can invent codes and ask for them often, so only an allowed one gets a write.
      const found = await access.first<Found>(findCode, [deviceHash, now]);
      if (found === undefined) return 'unknown';
      const { session_id: issuer, wallet } = found;
      if (issuer === null) return 'pending';
      if (wallet === null) return 'unknown';
      return access.write(async (tx) => {
        await lockAccount(tx, wallet);
        if ((await tx.run(remove, [deviceHash])) === 0) return 'unknown';
        if ((await tx.first(keepIssuer, [issuer, now])) === undefined) return 'unknown';
        await openSession(tx, session, wallet, 'cli_code', by);
        return { wallet };
      });
    },
  };
}
