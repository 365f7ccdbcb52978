// Stores accounts: balances, the ledger behind them, and grants of credits.

import type { Database, Statement } from 'better-sqlite3';
import type { AccountStore, Balance, CreditStore } from '../../ports/account.ts';
import {
  type BalanceChange,
  type GrantRow,
  grantDetail,
  grantEntry,
  LEDGER_COLUMNS,
  type LedgerEntry,
  type LedgerRow,
  type Reservation,
  requireRoom,
  requireSameGrant,
  SUMMARY,
  SUMMARY_MS,
  type SummaryRow,
  toLedgerRecord,
  toSummary,
} from '../rows/account.ts';
import { auditRecorder } from './audit-log.ts';
import type { Access } from './engine/connections.ts';

export function accountStore(access: Access): AccountStore {
  const { reader, writer, read, write } = access;
  const robots = reader.prepare<[string], { used: number }>(
    'SELECT count(*) AS used FROM robots WHERE wallet = ?',
  );
  const fleets = reader.prepare<[string], { used: number }>(
    'SELECT count(*) AS used FROM fleets WHERE wallet = ?',
  );
  const cursorKey = reader.prepare<[], { key: Buffer }>('SELECT key FROM cursor_key WHERE id = 1');
  const ledger = reader.prepare<[string, number, number], LedgerRow>(
    `SELECT ${LEDGER_COLUMNS} FROM ledger
     WHERE wallet = ? AND seq < ? ORDER BY seq DESC LIMIT ?`,
  );
  const summaries = reader.prepare<[{ 1: number }], SummaryRow>(`${SUMMARY} ORDER BY a.wallet`);
  const summary = reader.prepare<[{ 1: number; 2: string }], SummaryRow>(
    `${SUMMARY} WHERE a.wallet = $2`,
  );
  const isAccount = writer.prepare<[string]>('SELECT 1 FROM accounts WHERE wallet = ?');
  const suspend = writer.prepare<[number | null, string, number]>(
    'UPDATE accounts SET suspended_at = ? WHERE wallet = ? AND (suspended_at IS NULL) = ?',
  );
  const record = auditRecorder(writer);

  return {
    summarizeAccounts: (now, wallet) =>
      read(() => {
        const since = now - SUMMARY_MS;
        const rows =
          wallet === undefined ? summaries.all({ 1: since }) : summary.all({ 1: since, 2: wallet });
        return rows.map(toSummary);
      }),

    suspendAccount: (wallet, isSuspended, by, reason) =>
      write(() => {
        if (isAccount.get(wallet) === undefined) return false;
        const { changes } = suspend.run(isSuspended ? by.at : null, wallet, Number(isSuspended));
        const kind = isSuspended ? 'account_suspended' : 'account_resumed';
        if (changes > 0) record(wallet, kind, by, { detail: reason });
        return true;
      }),

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
  };
}

export function creditStore({ writer, reader, write, read }: Access, ledger: Ledger): CreditStore {
  const findGrant = writer.prepare<[string], GrantRow>(
    `SELECT wallet, anchors, gas_wei, note FROM ledger WHERE grant_id = ? AND kind = 'grant'`,
  );
  const balance = balanceStatement(reader);
  const record = auditRecorder(writer);

  return {
    grantCredits: (grant, by) =>
      write(() => {
        const stored = findGrant.get(grant.id);
        if (stored !== undefined) {
          requireSameGrant(stored, grant);
          return {
            outcome: 'repeated' as const,
            balance: existing(ledger.balanceOf(grant.wallet)),
          };
        }
        ledger.openAccount(grant.wallet, grant.now);
        requireRoom(existing(ledger.balanceOf(grant.wallet)), grant);
        ledger.post(grantEntry(grant));
        record(grant.wallet, 'credits_granted', by, { detail: grantDetail(grant) });
        return { outcome: 'granted' as const, balance: existing(ledger.balanceOf(grant.wallet)) };
      }),

    getBalance: (wallet) => read(() => toBalance(balance.get(wallet))),
  };
}

/** Balances and ledger entries, which always change together. Use it inside a write. */
export class Ledger {
  readonly #open;
  readonly #balance;
  readonly #setBalance;
  readonly #insert;
  readonly #reservation;

  constructor(db: Database) {
    this.#open = db.prepare<[string, number]>(
      `INSERT INTO accounts (wallet, anchor_quota, gas_credit_wei, created_at)
       VALUES (?, 0, '0', ?) ON CONFLICT DO NOTHING`,
    );
    this.#balance = balanceStatement(db);
    this.#setBalance = db.prepare<[number, string, string]>(
      'UPDATE accounts SET anchor_quota = ?, gas_credit_wei = ? WHERE wallet = ?',
    );
    this.#insert = db.prepare<[Record<string, string | number | null>]>(
      `INSERT INTO ledger (wallet, kind, anchors, gas_wei, task_id, cycle, grant_id, note, at)
       VALUES (:wallet, :kind, :anchors, :gasWei, :taskId, :cycle, :grantId, :note, :at)`,
    );
    this.#reservation = db.prepare<[string], { wallet: string; cycle: number; gas_wei: string }>(
      `SELECT wallet, cycle, gas_wei FROM ledger WHERE task_id = ? AND kind = 'reserve'
       ORDER BY cycle DESC LIMIT 1`,
    );
  }

  /** Does nothing if the account exists. */
  openAccount(wallet: string, now: number): void {
    this.#open.run(wallet, now);
  }

  balanceOf(wallet: string): Balance | null {
    return toBalance(this.#balance.get(wallet));
  }

  /** Returns the entry's `seq`. */
  post(entry: LedgerEntry): number {
    this.#moveBalance(entry);
    return this.#append(entry);
  }

  /** Appends many entries, and updates each balance once. */
  postAll(entries: readonly LedgerEntry[]): void {
    const sums = new Map<string, BalanceChange>();
    for (const entry of entries) {
      this.#append(entry);
      const { wallet } = entry;
      const { anchors, gasWei } = sums.get(wallet) ?? { anchors: 0, gasWei: 0n };
      sums.set(wallet, { wallet, anchors: anchors + entry.anchors, gasWei: gasWei + entry.gasWei });
    }
    for (const sum of sums.values()) this.#moveBalance(sum);
  }

  #append(entry: LedgerEntry): number {
    const { lastInsertRowid } = this.#insert.run({
      taskId: null,
      cycle: null,
      grantId: null,
      note: null,
      ...entry,
      gasWei: entry.gasWei.toString(),
    });
    return Number(lastInsertRowid);
  }

  #moveBalance({ wallet, anchors, gasWei }: BalanceChange): void {
    const balance = this.balanceOf(wallet);
    if (balance === null) throw new Error('The account of a ledger entry is missing');
    this.#setBalance.run(
      balance.anchorQuota + anchors,
      (balance.gasCreditWei + gasWei).toString(),
      wallet,
    );
  }

  /** The reservation of the task's newest cycle. It is still there after the task is deleted. */
  reservationOf(taskId: string): Reservation {
    const row = this.#reservation.get(taskId);
    if (row === undefined) throw new Error('A queued proof has no reservation');
    return { wallet: row.wallet, cycle: row.cycle, gasWei: -BigInt(row.gas_wei) };
  }

  /** Returns the reservation of the task's newest cycle to the account. */
  releaseReservation(taskId: string, at: number): void {
    const { wallet, cycle, gasWei } = this.reservationOf(taskId);
    this.post({ kind: 'release', wallet, anchors: 1, gasWei, taskId, cycle, at });
  }
}

export interface BalanceRow {
  wallet: string;
  anchor_quota: number;
  gas_credit_wei: string;
}

export function balanceStatement(db: Database): Statement<[string], BalanceRow> {
  return db.prepare<[string], BalanceRow>(
    'SELECT wallet, anchor_quota, gas_credit_wei FROM accounts WHERE wallet = ?',
  );
}

export function toBalance(row: BalanceRow | undefined): Balance | null {
  if (row === undefined) return null;
  return {
    wallet: row.wallet,
    anchorQuota: row.anchor_quota,
    gasCreditWei: BigInt(row.gas_credit_wei),
  };
}

function existing(balance: Balance | null): Balance {
  if (balance === null) throw new Error('The account of a grant is missing');
  return balance;
}
