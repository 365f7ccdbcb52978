// Stores sessions and the one-time codes that hand a session to the command line.

import { limits } from '../../../protocol/limits.ts';
import type { NewSession, SessionStore, SignInMethod } from '../../ports/sign-in.ts';
import { type ListedSessionRow, toListedSession } from '../rows/account.ts';
import { lockAccount } from './account.ts';
import type { Queries } from './engine/connections.ts';
import { LAST_UUID, sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';

/** Expired codes deleted per write: more than a write adds, and few enough to be quick. */
const PURGED_PER_WRITE = 10;
/** Sessions ended per write: more than a write adds, and few enough to be quick. */
const ENDED_PER_WRITE = 10;

const listSessions = sql(`SELECT id, signed_in_with, created_at, expires_at FROM sessions
  WHERE wallet = $1 AND id < $2 AND expires_at > $3 ORDER BY id DESC LIMIT $4`);
const endSession = sql('DELETE FROM sessions WHERE id = $1 AND wallet = $2');

const open = sql(`WITH opened AS (
    INSERT INTO sessions (id, token_hash, wallet, created_at, expires_at, signed_in_with)
    VALUES ($1, $2, $3, $4, $5, $6)
  )
  DELETE FROM sessions WHERE id IN (
    SELECT id FROM sessions WHERE wallet = $3 ORDER BY id DESC
    OFFSET ${limits.sessionsPerAccount - 1} LIMIT ${ENDED_PER_WRITE})`);

// FOR SHARE waits for a transaction that is ending the session.
const saveCode = sql(`WITH maker AS (
    SELECT signed_in_with FROM sessions WHERE id = $3 AND expires_at > $4 FOR SHARE
  ), purged AS (
    DELETE FROM cli_codes WHERE code_hash IN (
      SELECT code_hash FROM cli_codes WHERE expires_at <= $4 ORDER BY expires_at
      LIMIT ${PURGED_PER_WRITE} FOR UPDATE SKIP LOCKED)
  ), saved AS (
    INSERT INTO cli_codes (code_hash, challenge, session_id, expires_at)
    SELECT $1, $2, $3, $5::bigint FROM maker WHERE signed_in_with = 'wallet'
    ON CONFLICT (code_hash) DO NOTHING
  )
  SELECT signed_in_with FROM maker`);

// The wallet is null if the session that issued the code has ended.
const findMaker = sql(`SELECT s.wallet FROM cli_codes c LEFT JOIN sessions s ON s.id = c.session_id
  WHERE c.code_hash = $1`);
const spendCode = sql(`DELETE FROM cli_codes WHERE code_hash = $1
  RETURNING session_id, challenge = $2 AND expires_at > $3 AS valid`);
const keepMaker = sql('SELECT FROM sessions WHERE id = $1 AND expires_at > $2 FOR SHARE');

export function sessionStore(access: Access): SessionStore {
  return {
    async listSessions(wallet, now, limit, before) {
      const values = [wallet, before ?? LAST_UUID, now, limit];
      const rows = await access.rows<ListedSessionRow>(listSessions, values);
      return rows.map(toListedSession);
    },

    endSession: async (wallet, id) => (await access.run(endSession, [id, wallet])) > 0,

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
): Promise<void> {
  await tx.run(open, [id, tokenHash, wallet, createdAt, expiresAt, signedInWith]);
}

function cliCodes(access: Access): Pick<SessionStore, 'saveCliCode' | 'redeemCliCode'> {
  return {
    async saveCliCode({ codeHash, challenge, sessionId, createdAt, expiresAt }) {
      const maker = await access.first<{ signed_in_with: SignInMethod }>(saveCode, [
        codeHash,
        challenge,
        sessionId,
        createdAt,
        expiresAt,
      ]);
      if (maker === undefined) return 'session_ended';
      return maker.signed_in_with === 'wallet' ? 'saved' : 'not_by_wallet';
    },

    async redeemCliCode({ codeHash, challenge, session, now }) {
      // Anyone can invent codes, so only an existing one gets a write.
      const maker = await access.first<{ wallet: string | null }>(findMaker, [codeHash]);
      if (maker === undefined) return null;
      return access.write(async (tx) => {
        if (maker.wallet !== null) await lockAccount(tx, maker.wallet);
        const code = await tx.first<{ session_id: string; valid: boolean }>(spendCode, [
          codeHash,
          challenge,
          now,
        ]);
        if (maker.wallet === null || code?.valid !== true) return null;
        if ((await tx.first(keepMaker, [code.session_id, now])) === undefined) return null;
        await openSession(tx, session, maker.wallet, 'cli_code');
        return { wallet: maker.wallet };
      });
    },
  };
}
