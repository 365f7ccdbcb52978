import type { AccountStore, SignInMethod } from '../../core/account-store.ts';
import {
  type LedgerRow,
  type ListedSessionRow,
  toLedgerRecord,
  toListedSession,
} from '../account-rows.ts';
import type { Access } from './access.ts';
import { sessionOpener } from './open-session.ts';

/** Greater than any id. */
const AFTER_ALL_IDS = 'g';

/** How many expired codes one write forgets: more than it adds, and never many. */
const PURGED_PER_WRITE = 10;

export function accountStore(access: Access): AccountStore {
  const { reader, writer, write, read } = access;
  const robots = reader.prepare<[string], { used: number }>(
    'SELECT count(*) AS used FROM robots WHERE wallet = ?',
  );
  const fleets = reader.prepare<[string], { used: number }>(
    'SELECT count(*) AS used FROM fleets WHERE wallet = ?',
  );
  const cursorKey = reader.prepare<[], { key: Buffer }>('SELECT key FROM cursor_key WHERE id = 1');
  const ledger = reader.prepare<[string, number, number], LedgerRow>(
    `SELECT seq, kind, anchors, gas_wei, task_id, cycle, grant_id, note, at FROM ledger
     WHERE wallet = ? AND seq < ? ORDER BY seq DESC LIMIT ?`,
  );
  const sessions = reader.prepare<[string, string, number, number], ListedSessionRow>(
    `SELECT id, signed_in_with, created_at, expires_at FROM sessions
     WHERE wallet = ? AND id < ? AND expires_at > ? ORDER BY id DESC LIMIT ?`,
  );
  const endSession = writer.prepare<[string, string]>(
    'DELETE FROM sessions WHERE id = ? AND wallet = ?',
  );

  return {
    countUsed: (wallet) =>
      read(() => ({
        robots: robots.get(wallet)?.used ?? 0,
        fleets: fleets.get(wallet)?.used ?? 0,
      })),

    cursorKey: () =>
      read(() => {
        const row = cursorKey.get();
        if (row === undefined) throw new Error('The database has no cursor key');
        return row.key;
      }),

    listLedger: (wallet, limit, before) =>
      read(() => ledger.all(wallet, before ?? Number.MAX_SAFE_INTEGER, limit).map(toLedgerRecord)),

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
}: Access): Pick<AccountStore, 'saveCliCode' | 'redeemCliCode'> {
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
        if (maker === undefined) return 'session_gone';
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
