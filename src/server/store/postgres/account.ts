// Summarizes and suspends accounts, and moves balances with their ledger entries.

import type { AccountStore } from '../../ports/account.ts';
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
import type { Queries } from './engine/connections.ts';
import { sql } from './engine/sql.ts';
import { runSteps } from './engine/steps.ts';
import type { Access } from './engine/transactions.ts';

const summaries = sql(`${SUMMARY} ORDER BY a.wallet`);
const summary = sql(`${SUMMARY} WHERE a.wallet = $2`);
const isAccount = sql('SELECT FROM accounts WHERE wallet = $1');
const suspend = sql(`UPDATE accounts SET suspended_at = $2
  WHERE wallet = $1 AND (suspended_at IS NULL) = $3`);

const lockAccounts = sql(
  'SELECT FROM accounts WHERE wallet = ANY($1) ORDER BY wallet FOR NO KEY UPDATE',
);
const lockAccountsOf = sql(`SELECT FROM accounts
  WHERE wallet IN (SELECT wallet FROM ledger WHERE task_id = ANY($1::uuid[]) AND kind = 'reserve')
  ORDER BY wallet FOR NO KEY UPDATE`);
const moveBalances = sql(`UPDATE accounts a
  SET anchor_quota = a.anchor_quota + c.anchors, gas_credit_wei = a.gas_credit_wei + c.gas_wei
  FROM unnest($1::text[], $2::bigint[], $3::numeric[]) AS c (wallet, anchors, gas_wei)
  WHERE a.wallet = c.wallet`);
const append = sql(`INSERT INTO ledger
    (wallet, kind, anchors, gas_wei, task_id, cycle, grant_id, note, at)
  SELECT e.wallet, e.kind, e.anchors, e.gas_wei, e.task_id, e.cycle, e.grant_id, e.note, e.at
  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::numeric[], $5::uuid[], $6::integer[],
      $7::text[], $8::text[], $9::bigint[])
    WITH ORDINALITY AS e (wallet, kind, anchors, gas_wei, task_id, cycle, grant_id, note, at, place)
  ORDER BY e.place
  RETURNING seq`);
const newestReservations = sql(`SELECT DISTINCT ON (task_id) task_id, wallet, cycle, gas_wei
  FROM ledger WHERE task_id = ANY($1::uuid[]) AND kind = 'reserve' ORDER BY task_id, cycle DESC`);

export function summaryStore(
  access: Access,
): Pick<AccountStore, 'summarizeAccounts' | 'suspendAccount'> {
  return {
    async summarizeAccounts(now, wallet) {
      const since = now - SUMMARY_MS;
      const rows = await (wallet === undefined
        ? access.rows<SummaryRow>(summaries, [since])
        : access.rows<SummaryRow>(summary, [since, wallet]));
      return rows.map(toSummary);
    },

    suspendAccount: (wallet, isSuspended, by, reason) =>
      access.write(async (tx) => {
        if ((await tx.first(isAccount, [wallet])) === undefined) return false;
        const changes = await tx.run(suspend, [wallet, isSuspended ? by.at : null, isSuspended]);
        const kind = isSuspended ? 'account_suspended' : 'account_resumed';
        if (changes > 0) await runSteps(tx, recordAudit(wallet, kind, by, { detail: reason }));
        return true;
      }),
  };
}

/** Locks the account's balance and counts until this write ends. Call it inside a write. */
export async function lockAccount(tx: Queries, wallet: string): Promise<void> {
  await tx.rows(lockAccounts, [[wallet]]);
}

/**
 * Appends ledger entries and updates each balance once. Locks the accounts in the order of wallets. Returns the `seq`
 * of each entry. Call it inside a write; balances and entries always change together.
 */
export async function postEntries(tx: Queries, entries: readonly LedgerEntry[]): Promise<number[]> {
  if (entries.length === 0) return [];
  const changes = sums(entries);
  const wallets = changes.map(({ wallet }) => wallet);
  await tx.rows(lockAccounts, [wallets]);
  const moved = await tx.run(moveBalances, [
    wallets,
    changes.map(({ anchors }) => anchors),
    changes.map(({ gasWei }) => gasWei),
  ]);
  if (moved !== changes.length) throw new Error('The account of a ledger entry is missing');
  const ofTask = entries.map((entry) => (entry.kind === 'grant' ? null : entry));
  const ofGrant = entries.map((entry) => (entry.kind === 'grant' ? entry : null));
  const rows = await tx.rows<{ seq: number }>(append, [
    entries.map(({ wallet }) => wallet),
    entries.map(({ kind }) => kind),
    entries.map(({ anchors }) => anchors),
    entries.map(({ gasWei }) => gasWei),
    ofTask.map((entry) => entry?.taskId ?? null),
    ofTask.map((entry) => entry?.cycle ?? null),
    ofGrant.map((entry) => entry?.grantId ?? null),
    ofGrant.map((entry) => entry?.note ?? null),
    entries.map(({ at }) => at),
  ]);
  return rows.map(({ seq }) => seq);
}

/** Locks the accounts that reserved credits for the tasks. Call it inside a write, before locking the tasks. */
export async function lockReserving(tx: Queries, taskIds: readonly string[]): Promise<void> {
  await tx.rows(lockAccountsOf, [taskIds]);
}

/** The reservation of each task's newest cycle, by task id. It is still there after the task is deleted. */
export async function reservationsOf(
  tx: Queries,
  taskIds: readonly string[],
): Promise<ReadonlyMap<string, Reservation>> {
  const rows = await tx.rows<{ task_id: string; wallet: string; cycle: number; gas_wei: string }>(
    newestReservations,
    [taskIds],
  );
  return new Map(
    rows.map(({ task_id, wallet, cycle, gas_wei }) => [
      task_id,
      { wallet, cycle, gasWei: -BigInt(gas_wei) },
    ]),
  );
}

/** Returns the reservations of the tasks' newest cycles to the accounts. Call it inside a write. */
export async function releaseReservations(
  tx: Queries,
  taskIds: readonly string[],
  at: number,
): Promise<void> {
  if (taskIds.length === 0) return;
  const reservations = await reservationsOf(tx, taskIds);
  const entries = taskIds.map((taskId): LedgerEntry => {
    const { wallet, cycle, gasWei } = reservationOf(reservations, taskId);
    return { kind: 'release', wallet, anchors: 1, gasWei, taskId, cycle, at };
  });
  await postEntries(tx, entries);
}

export function reservationOf(
  reservations: ReadonlyMap<string, Reservation>,
  taskId: string,
): Reservation {
  const reservation = reservations.get(taskId);
  if (reservation === undefined) throw new Error('The task has no reservation');
  return reservation;
}

function sums(entries: readonly LedgerEntry[]): BalanceChange[] {
  const changes = new Map<string, BalanceChange>();
  for (const { wallet, anchors, gasWei } of entries) {
    const sum = changes.get(wallet) ?? { wallet, anchors: 0, gasWei: 0n };
    changes.set(wallet, { wallet, anchors: sum.anchors + anchors, gasWei: sum.gasWei + gasWei });
  }
  return [...changes.values()];
}
