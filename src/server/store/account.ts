// Stores accounts: their use, their ledger, and grants of credits.

import type { AccountStore, Balance, CreditStore } from '../ports/account.ts';
import { recordAudit } from './audit-log.ts';
import {
  type GrantEntry,
  type GrantRow,
  grantDetail,
  grantEntry,
  LEDGER_COLUMNS,
  type LedgerRow,
  requireRoom,
  requireSameGrant,
  toLedgerRecord,
} from './rows/account.ts';
import { first, lock, mutex, rows, type StepRunner, type Steps } from './steps.ts';

export const accountSql = {
  used: `SELECT (SELECT count(*) FROM robots WHERE wallet = $1) AS robots,
    (SELECT count(*) FROM fleets WHERE wallet = $1) AS fleets`,
  cursorKey: 'SELECT key FROM cursor_key WHERE id = 1',
  ledger: `SELECT ${LEDGER_COLUMNS} FROM ledger
    WHERE wallet = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3`,
  open: `INSERT INTO accounts (wallet, anchor_quota, gas_credit_wei, created_at)
    VALUES ($1, 0, '0', $2) ON CONFLICT DO NOTHING`,
  balance: 'SELECT anchor_quota, gas_credit_wei FROM accounts WHERE wallet = $1',
  setBalance: 'UPDATE accounts SET anchor_quota = $2, gas_credit_wei = $3 WHERE wallet = $1',
  grant: `SELECT wallet, anchors, gas_wei, note FROM ledger
    WHERE grant_id = $1 AND kind = 'grant'`,
  appendGrant: `INSERT INTO ledger (wallet, kind, anchors, gas_wei, grant_id, note, at)
    VALUES ($1, 'grant', $2, $3, $4, $5, $6)`,
} as const;

export function accountStore({
  read,
}: StepRunner): Pick<AccountStore, 'countUsed' | 'cursorKey' | 'listLedger'> {
  return {
    async countUsed(wallet) {
      type Used = { robots: number; fleets: number };
      return (await read(() => first<Used>(accountSql.used, wallet))) ?? { robots: 0, fleets: 0 };
    },

    async cursorKey() {
      const row = await read(() => first<{ key: Buffer }>(accountSql.cursorKey));
      if (row === undefined) throw new Error('The database has no cursor key');
      return row.key;
    },

    async listLedger(wallet, limit, before) {
      const place = before ?? Number.MAX_SAFE_INTEGER;
      const page = await read(() => rows<LedgerRow>(accountSql.ledger, wallet, place, limit));
      return page.map(toLedgerRecord);
    },
  };
}

export function creditStore({ read, write }: StepRunner): CreditStore {
  return {
    grantCredits: (grant, by) =>
      write(function* () {
        const { id, wallet, now } = grant;
        yield* mutex(id);
        const stored = yield* first<GrantRow>(accountSql.grant, id);
        if (stored !== undefined) {
          requireSameGrant(stored, grant);
          return { outcome: 'repeated', balance: yield* existing(wallet) };
        }
        yield* openAccount(wallet, now);
        requireRoom(yield* existing(wallet), grant);
        yield* postGrant(grantEntry(grant));
        yield* recordAudit(wallet, 'credits_granted', by, { detail: grantDetail(grant) });
        return { outcome: 'granted', balance: yield* existing(wallet) };
      }),

    getBalance: (wallet) => read(() => balanceOf(wallet)),
  };
}

/** Opens the account unless it exists, and locks it. Call it inside a write. */
export function* openAccount(wallet: string, now: number): Steps<void> {
  yield* rows(accountSql.open, wallet, now);
  yield* lock(wallet);
}

/** Appends the entry and updates the balance. Call it inside a write that has locked the account. */
export function* postGrant({
  wallet,
  anchors,
  gasWei,
  grantId,
  note,
  at,
}: GrantEntry): Steps<void> {
  const { anchorQuota, gasCreditWei } = yield* existing(wallet);
  const sum = String(gasCreditWei + gasWei);
  yield* rows(accountSql.setBalance, wallet, anchorQuota + anchors, sum);
  yield* rows(accountSql.appendGrant, wallet, anchors, String(gasWei), grantId, note, at);
}

function* balanceOf(wallet: string): Steps<Balance | null> {
  type Row = { anchor_quota: number; gas_credit_wei: string };
  const row = yield* first<Row>(accountSql.balance, wallet);
  if (row === undefined) return null;
  return { wallet, anchorQuota: row.anchor_quota, gasCreditWei: BigInt(row.gas_credit_wei) };
}

function* existing(wallet: string): Steps<Balance> {
  const balance = yield* balanceOf(wallet);
  if (balance === null) throw new Error('The account of a grant is missing');
  return balance;
}
