import type { AccountStore, SignInMethod } from '../../core/account-store.ts';
import {
  type LedgerRow,
  type ListedSessionRow,
  toLedgerRecord,
  toListedSession,
} from '../account-rows.ts';
import type { Access } from './access.ts';
import { lockAccount } from './ledger.ts';
import { openSession } from './open-session.ts';
import { LAST_UUID, sql } from './sql.ts';

/** How many expired codes one write forgets: more than it adds, and never many. */
const PURGED_PER_WRITE = 10;

const countUsed = sql('SELECT robot_count, fleet_count FROM accounts WHERE wallet = $1');
const cursorKey = sql('SELECT key FROM cursor_key WHERE id = 1');
const listLedger = sql(`SELECT seq, kind, anchors, gas_wei, task_id, cycle, grant_id, note, at
  FROM ledger WHERE wallet = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3`);
const listSessions = sql(`SELECT id, signed_in_with, created_at, expires_at FROM sessions
  WHERE wallet = $1 AND id < $2 AND expires_at > $3 ORDER BY id DESC LIMIT $4`);
const endSession = sql('DELETE FROM sessions WHERE id = $1 AND wallet = $2');

export function accountStore(access: Access): AccountStore {
  return {
    async countUsed(wallet) {
      const row = await access.first<{ robot_count: number; fleet_count: number }>(countUsed, [
        wallet,
      ]);
      return { robots: row?.robot_count ?? 0, fleets: row?.fleet_count ?? 0 };
    },

    async cursorKey() {
      const row = await access.first<{ key: Buffer }>(cursorKey);
      if (row === undefined) throw new Error('The database has no cursor key');
      return row.key;
    },

    async listLedger(wallet, limit, before) {
      const place = before ?? Number.MAX_SAFE_INTEGER;
      const rows = await access.rows<LedgerRow>(listLedger, [wallet, place, limit]);
      return rows.map(toLedgerRecord);
    },

    async listSessions(wallet, now, limit, before) {
      const values = [wallet, before ?? LAST_UUID, now, limit];
      const rows = await access.rows<ListedSessionRow>(listSessions, values);
      return rows.map(toListedSession);
    },

    endSession: async (wallet, id) => (await access.run(endSession, [id, wallet])) > 0,

    ...cliCodes(access),
  };
}

// A session that is being ended is waited for.
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
// The wallet is null where the session that made the code is gone.
const findMaker = sql(`SELECT s.wallet FROM cli_codes c LEFT JOIN sessions s ON s.id = c.session_id
  WHERE c.code_hash = $1`);
const spendCode = sql(`DELETE FROM cli_codes WHERE code_hash = $1
  RETURNING session_id, challenge = $2 AND expires_at > $3 AS valid`);
const keepMaker = sql('SELECT FROM sessions WHERE id = $1 AND expires_at > $2 FOR SHARE');

function cliCodes(access: Access): Pick<AccountStore, 'saveCliCode' | 'redeemCliCode'> {
  return {
    async saveCliCode({ codeHash, challenge, sessionId, createdAt, expiresAt }) {
      const maker = await access.first<{ signed_in_with: SignInMethod }>(saveCode, [
        codeHash,
        challenge,
        sessionId,
        createdAt,
        expiresAt,
      ]);
      if (maker === undefined) return 'session_gone';
      return maker.signed_in_with === 'wallet' ? 'saved' : 'not_by_wallet';
    },

    async redeemCliCode({ codeHash, challenge, session, now }) {
      // Anybody can make codes up; only one that exists is worth a write.
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
