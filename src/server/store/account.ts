// Stores accounts: their balance, use, summaries, suspension and deletion.

import type {
  AccountStore,
  AccountSummary,
  Balance,
  Deletion,
  DeletionStore,
} from '../ports/account.ts';
import { recordAudit } from './audit-log.ts';
import type { Db, Tx } from './db/database.ts';
import { among, lockAccount, onPostgres } from './db/dialect.ts';
import type { InText } from './db/rows.ts';
import { raw, type Sql, sql } from './db/sql.ts';
import { pauseWebhooks } from './webhooks.ts';

/** Period of the anchors in an account's summary. */
const SUMMARY_MS = 30 * 24 * 60 * 60_000;

/** The cost of an anchor beyond its reservation. */
const EXCESS = raw(
  'CAST(t.cost_wei AS double precision) / t.leaf_count + CAST(r.gas_wei AS double precision)',
);

const BALANCE_COLUMNS = raw(
  `wallet, anchor_quota AS "anchorQuota", gas_credit_wei AS "gasCreditWei"`,
);

/** So that a commit does not delay others. */
const ROWS_PER_COMMIT = 500;

export function accountStore({ one, read, write }: Db): Omit<AccountStore, 'listLedger'> {
  return {
    countUsed: (wallet) =>
      one<{ robots: number; fleets: number }>(sql`SELECT
        (SELECT count(*) FROM robots WHERE wallet = ${wallet}) AS robots,
        (SELECT count(*) FROM fleets WHERE wallet = ${wallet}) AS fleets`),

    async cursorKey() {
      const { key } = await one<{ key: Buffer }>(sql`SELECT key FROM cursor_key WHERE id = 1`);
      return key;
    },

    summarizeAccounts: (now, limit, after) =>
      read((tx) =>
        summarize(tx, now, sql`WHERE a.wallet > ${after ?? ''} ORDER BY a.wallet LIMIT ${limit}`),
      ),

    async summarizeAccount(now, wallet) {
      const [account] = await read((tx) => summarize(tx, now, sql`WHERE a.wallet = ${wallet}`));
      return account ?? null;
    },

    suspendAccount: (wallet, isSuspended, by, reason) =>
      write(async (tx) => {
        const known = sql`SELECT wallet FROM accounts WHERE wallet = ${wallet}`;
        if ((await tx.get(known)) === null) return false;
        const at = isSuspended ? by.at : null;
        const kept = isSuspended ? reason : null;
        const changed = await tx.run(sql`UPDATE accounts
          SET suspended_at = ${at}, suspension_reason = ${kept}
          WHERE wallet = ${wallet} AND suspended_at IS ${raw(isSuspended ? 'NULL' : 'NOT NULL')}`);
        if (changed > 0) await pauseWebhooks(tx, wallet, isSuspended);
        else if (kept === null || !(await changeReason(tx, wallet, kept))) return true;
        const kind = isSuspended ? 'account_suspended' : 'account_resumed';
        await recordAudit(tx, wallet, kind, by, { detail: reason });
        return true;
      }),
  };
}

/** For the operator. `which` selects from the accounts `a`. */
async function summarize(tx: Tx, now: number, which: Sql): Promise<AccountSummary[]> {
  const since = now - SUMMARY_MS;
  // The entries that the index `ledger_uncovered` has: their reservation came back, or was used up.
  const uncovered = sql`e.wallet = a.wallet AND e.at >= ${since}
    AND (e.kind = 'release' OR (e.kind = 'settle' AND e.gas_wei = '0'))`;
  const accounts = await tx.all<InText<AccountSummary>>(sql`
    WITH waiting AS (
      SELECT t.wallet, count(*) AS proofs FROM completions c JOIN tasks t ON t.id = c.task_id
      WHERE c.state = 'queued' GROUP BY t.wallet)
    SELECT a.wallet, a.anchor_quota AS "anchorQuota", a.gas_credit_wei AS "gasCreditWei",
      a.created_at AS "createdAt", a.suspended_at AS "suspendedAt",
      a.suspension_reason AS "suspensionReason",
      (SELECT count(*) FROM robots r WHERE r.wallet = a.wallet) AS robots,
      coalesce((SELECT bytes FROM storage_usage u WHERE u.wallet = a.wallet), 0) AS "storedBytes",
      coalesce((SELECT proofs FROM waiting w WHERE w.wallet = a.wallet), 0) AS queued,
      (SELECT CAST(coalesce(sum(anchors), 0) AS bigint) FROM anchor_days d
       WHERE d.scope = a.wallet AND d.at >= ${since}) AS anchors,
      (SELECT count(*) FROM ledger e WHERE ${uncovered} AND e.kind = 'release') AS returned,
      (SELECT coalesce(sum(${EXCESS}), 0) FROM ledger e
       JOIN ledger r ON r.task_id = e.task_id AND r.cycle = e.cycle AND r.kind = 'reserve'
       JOIN leaves l ON l.task_id = e.task_id AND l.live JOIN attempts t ON t.id = l.attempt_id
       WHERE ${uncovered} AND e.kind = 'settle' AND ${EXCESS} > 0) AS "uncoveredWei"
    FROM accounts a ${which}`);
  return accounts.map(toBalance);
}

/** Whether the suspended account had another reason before. */
async function changeReason(tx: Tx, wallet: string, reason: string): Promise<boolean> {
  const changed = await tx.run(sql`UPDATE accounts SET suspension_reason = ${reason}
    WHERE wallet = ${wallet} AND suspended_at IS NOT NULL
      AND suspension_reason IS DISTINCT FROM ${reason}`);
  return changed > 0;
}

/** Opens the account unless it exists, and locks it. Call it inside a write. */
export async function openAccount(tx: Tx, wallet: string, now: number): Promise<void> {
  await tx.run(sql`INSERT INTO accounts (wallet, anchor_quota, gas_credit_wei, created_at)
    VALUES (${wallet}, 0, '0', ${now}) ON CONFLICT DO NOTHING`);
  await lockAccount(tx, wallet);
}

export async function balanceOf(tx: Tx, wallet: string): Promise<Balance | null> {
  const balance = await tx.get<InText<Balance>>(
    sql`SELECT ${BALANCE_COLUMNS} FROM accounts WHERE wallet = ${wallet}`,
  );
  return balance === null ? null : toBalance(balance);
}

/** Reads balances and locks their accounts, in the order of wallets. Call it inside a write. */
export async function lockBalances(tx: Tx, wallets: readonly string[]): Promise<Balance[]> {
  const balances = await tx.all<InText<Balance>>(sql`SELECT ${BALANCE_COLUMNS} FROM accounts
    WHERE wallet ${among('text', wallets)} ORDER BY wallet ${onPostgres(sql`FOR NO KEY UPDATE`)}`);
  return balances.map(toBalance);
}

function toBalance<Row extends InText<Balance>>({ gasCreditWei, ...row }: Row) {
  return { ...row, gasCreditWei: BigInt(gasCreditWei) };
}

export function deletionStore({ all, get, run, write }: Db): DeletionStore {
  return {
    beginDeletion: (wallet, by) =>
      write(async (tx) => {
        await lockAccount(tx, wallet);
        const deletion = await tx.get<Deletion>(sql`UPDATE accounts
          SET deleting_at = coalesce(deleting_at, ${by.at})
          WHERE wallet = ${wallet} RETURNING wallet, deleting_at AS "startedAt"`);
        if (deletion?.startedAt === by.at) {
          await recordAudit(tx, wallet, 'account_deletion_began', by);
        }
        await endAccess(tx, wallet);
        await tx.run(sql`DELETE FROM alert_rules WHERE wallet = ${wallet}`);
        return deletion;
      }),

    listDeletions: () =>
      all<Deletion>(sql`SELECT wallet, deleting_at AS "startedAt" FROM accounts
        WHERE deleting_at IS NOT NULL ORDER BY wallet`),

    async isDeleting(deletion) {
      return (await get(find(deletion))) !== null;
    },

    async endDeletion(deletion) {
      const { wallet, startedAt } = deletion;
      const isDeleting = sql`EXISTS (${find(deletion)})`;
      const some = (table: 'alerts' | 'audit_log') => sql`DELETE FROM ${raw(table)} WHERE id IN (
        SELECT id FROM ${raw(table)} WHERE wallet = ${wallet} AND ${isDeleting}
        LIMIT ${ROWS_PER_COMMIT})`;
      // The days of anchors stay: they repeat the ledger, which stays too.
      const someHours = sql`DELETE FROM activity_hours WHERE scope = ${wallet} AND at IN (
        SELECT at FROM activity_hours WHERE scope = ${wallet} AND ${isDeleting}
        LIMIT ${ROWS_PER_COMMIT})`;
      for (const deleteSome of [some('alerts'), some('audit_log'), someHours]) {
        while ((await run(deleteSome)) === ROWS_PER_COMMIT);
      }
      await write(async (tx) => {
        await lockAccount(tx, wallet);
        const ended = await tx.run(sql`UPDATE accounts SET deleting_at = NULL
          WHERE wallet = ${wallet} AND deleting_at = ${startedAt}`);
        // Calls that began before the deletion may have opened sessions.
        if (ended > 0) await endAccess(tx, wallet);
      });
    },
  };
}

function find({ wallet, startedAt }: Deletion): Sql {
  return sql`SELECT wallet FROM accounts WHERE wallet = ${wallet} AND deleting_at = ${startedAt}`;
}

/** Ends the sessions and tokens of the account, and the keys of its robots. */
async function endAccess(tx: Tx, wallet: string): Promise<void> {
  await tx.run(sql`DELETE FROM sessions WHERE wallet = ${wallet}`);
  await tx.run(sql`UPDATE robots SET key_hash = NULL, key_hint = NULL WHERE wallet = ${wallet}`);
}
