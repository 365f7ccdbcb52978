// Summarizes and suspends accounts, and moves balances with their ledger entries.

import type { Database, Statement } from 'better-sqlite3';
import type { AccountStore, Balance } from '../../ports/account.ts';
import { recordAudit } from '../audit-log.ts';
import {
  type BalanceChange,
  type LedgerEntry,
  type Reservation,
  SUMMARY,
  SUMMARY_MS,
  type SummaryRow,
  toSummary,
} from '../rows/account.ts';
import type { Access } from './engine/connections.ts';
import { runOn } from './engine/steps.ts';

export function summaryStore(
  access: Access,
): Pick<AccountStore, 'summarizeAccounts' | 'suspendAccount'> {
  const { reader, writer, read, write } = access;
  const summaries = reader.prepare<[{ 1: number }], SummaryRow>(`${SUMMARY} ORDER BY a.wallet`);
  const summary = reader.prepare<[{ 1: number; 2: string }], SummaryRow>(
    `${SUMMARY} WHERE a.wallet = $2`,
  );
  const isAccount = writer.prepare<[string]>('SELECT 1 FROM accounts WHERE wallet = ?');
  const suspend = writer.prepare<[number | null, string, number]>(
    'UPDATE accounts SET suspended_at = ? WHERE wallet = ? AND (suspended_at IS NULL) = ?',
  );
  const run = runOn(writer);

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
        if (changes > 0) run(recordAudit(wallet, kind, by, { detail: reason }));
        return true;
      }),
  };
}

/** Balances and ledger entries, which always change together. Use it inside a write. */
export class Ledger {
  readonly #balance;
  readonly #setBalance;
  readonly #insert;
  readonly #reservation;

  constructor(db: Database) {
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

interface BalanceRow {
  wallet: string;
  anchor_quota: number;
  gas_credit_wei: string;
}

function balanceStatement(db: Database): Statement<[string], BalanceRow> {
  return db.prepare<[string], BalanceRow>(
    'SELECT wallet, anchor_quota, gas_credit_wei FROM accounts WHERE wallet = ?',
  );
}

function toBalance(row: BalanceRow | undefined): Balance | null {
  if (row === undefined) return null;
  return {
    wallet: row.wallet,
    anchorQuota: row.anchor_quota,
    gasCreditWei: BigInt(row.gas_credit_wei),
  };
}
