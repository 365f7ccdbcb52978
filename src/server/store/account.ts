// Stores accounts: their ledger and balance, use, summaries, suspension and deletion.
import type {
  AccountStore,
  AccountSummary,
  Balance,
  CreditStore,
  Deletion,
  DeletionStore,
  Grant,
} from '../ports/account.ts';
import { recordAudit } from './audit-log.ts';
import {
  among,
  first,
  firstAs,
  type InText,
  insert,
  lock,
  lockRows,
  mutex,
  rows,
  type StepRunner,
  type Steps,
  some,
} from './engine/steps.ts';
import {
  BALANCE_COLUMNS,
  type BalanceChange,
  type GrantRow,
  grantEntry,
  LEDGER_COLUMNS,
  type LedgerEntry,
  type LedgerRow,
  type Reservation,
  requireCredits,
  requireRoom,
  requireSameGrant,
  revokeEntry,
  SUMMARY,
  SUMMARY_MS,
  toBalance,
} from './rows/account.ts';
import { pauseWebhooks } from './webhooks.ts';

/** So that a commit does not delay others. */
const ROWS_PER_COMMIT = 500;

const IS_DELETING = 'EXISTS (SELECT 1 FROM accounts WHERE wallet = $1 AND deleting_at = $2)';
const someOf = (table: string) => `DELETE FROM ${table} WHERE id IN (
  SELECT id FROM ${table} WHERE wallet = $1 AND ${IS_DELETING} LIMIT $3) RETURNING id`;
/** The days of anchors stay: they repeat the ledger, which stays too. */
const someHours = `DELETE FROM activity_hours WHERE scope = $1 AND at IN (
  SELECT at FROM activity_hours WHERE scope = $1 AND ${IS_DELETING} LIMIT $3) RETURNING at`;

export const accountSql = {
  used: `SELECT (SELECT count(*) FROM robots WHERE wallet = $1) AS robots,
    (SELECT count(*) FROM fleets WHERE wallet = $1) AS fleets`,
  cursorKey: 'SELECT key FROM cursor_key WHERE id = 1',
  summaries: `${SUMMARY} WHERE a.wallet > $2 ORDER BY a.wallet LIMIT $3`,
  summary: `${SUMMARY} WHERE a.wallet = $2`,
  exists: 'SELECT wallet FROM accounts WHERE wallet = $1',
  suspend: `UPDATE accounts SET suspended_at = $2, suspension_reason = $4
    WHERE wallet = $1 AND (suspended_at IS NULL) = ($3 = 1) RETURNING wallet`,
  changeReason: `UPDATE accounts SET suspension_reason = $2
    WHERE wallet = $1 AND suspended_at IS NOT NULL AND suspension_reason IS DISTINCT FROM $2
    RETURNING wallet`,
  begin: `UPDATE accounts SET deleting_at = coalesce(deleting_at, $2)
    WHERE wallet = $1 RETURNING wallet, deleting_at AS "startedAt"`,
  endSessions: 'DELETE FROM sessions WHERE wallet = $1',
  endKeys: 'UPDATE robots SET key_hash = NULL, key_hint = NULL WHERE wallet = $1',
  deleteRules: 'DELETE FROM alert_rules WHERE wallet = $1',
  list: `SELECT wallet, deleting_at AS "startedAt" FROM accounts
    WHERE deleting_at IS NOT NULL ORDER BY wallet`,
  find: 'SELECT wallet FROM accounts WHERE wallet = $1 AND deleting_at = $2',
  someAlerts: someOf('alerts'),
  someEntries: someOf('audit_log'),
  someHours,
  end: 'UPDATE accounts SET deleting_at = NULL WHERE wallet = $1 AND deleting_at = $2 RETURNING wallet',
} as const;

export function accountStore({ read, write }: StepRunner): Omit<AccountStore, 'listLedger'> {
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

    async summarizeAccounts(now, limit, after) {
      const values = [now - SUMMARY_MS, after ?? '', limit];
      type Row = InText<AccountSummary>;
      return (await read(() => rows<Row>(accountSql.summaries, ...values))).map(toBalance);
    },

    summarizeAccount: (now, wallet) =>
      read(() =>
        firstAs(toBalance<InText<AccountSummary>>, accountSql.summary, now - SUMMARY_MS, wallet),
      ),

    suspendAccount: (wallet, isSuspended, by, reason) =>
      write(function* () {
        if (!(yield* some(accountSql.exists, wallet))) return false;
        const at = isSuspended ? by.at : null;
        const kept = isSuspended ? reason : null;
        const kind = isSuspended ? 'account_suspended' : 'account_resumed';
        if (yield* some(accountSql.suspend, wallet, at, Number(isSuspended), kept)) {
          yield* pauseWebhooks(wallet, isSuspended);
        } else if (kept === null || !(yield* some(accountSql.changeReason, wallet, kept))) {
          return true;
        }
        yield* recordAudit(wallet, kind, by, { detail: reason });
        return true;
      }),
  };
}

export function deletionStore({ read, write }: StepRunner): DeletionStore {
  return {
    beginDeletion: (wallet, by) =>
      write(function* () {
        yield* lock(wallet);
        const deletion = yield* first<Deletion>(accountSql.begin, wallet, by.at);
        if (deletion?.startedAt === by.at) {
          yield* recordAudit(wallet, 'account_deletion_began', by);
        }
        yield* rows(accountSql.endSessions, wallet);
        yield* rows(accountSql.endKeys, wallet);
        yield* rows(accountSql.deleteRules, wallet);
        return deletion ?? null;
      }),
    listDeletions: () => read(() => rows<Deletion>(accountSql.list)),
    isDeleting: ({ wallet, startedAt }) => read(() => some(accountSql.find, wallet, startedAt)),
    async endDeletion({ wallet, startedAt }) {
      const { someAlerts, someEntries } = accountSql;
      for (const statement of [someAlerts, someEntries, someHours]) {
        let deleted: number;
        do {
          deleted = (await write(() => rows(statement, wallet, startedAt, ROWS_PER_COMMIT))).length;
        } while (deleted === ROWS_PER_COMMIT);
      }
      await write(function* () {
        yield* lock(wallet);
        if (!(yield* some(accountSql.end, wallet, startedAt))) return;
        // Of calls that had begun before the deletion.
        yield* rows(accountSql.endSessions, wallet);
        yield* rows(accountSql.endKeys, wallet);
      });
    },
  };
}

export const ledgerSql = {
  page: `SELECT ${LEDGER_COLUMNS} FROM ledger
    WHERE wallet = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3`,
  openAccount: `INSERT INTO accounts (wallet, anchor_quota, gas_credit_wei, created_at)
    VALUES ($1, 0, '0', $2) ON CONFLICT DO NOTHING`,
  balance: `SELECT ${BALANCE_COLUMNS} FROM accounts WHERE wallet = $1`,
  lockBalances: `SELECT ${BALANCE_COLUMNS} FROM accounts
    WHERE wallet ${among('text', 1)} ORDER BY wallet FOR NO KEY UPDATE`,
  lockReserving: `SELECT wallet FROM accounts WHERE wallet IN
    (SELECT wallet FROM ledger WHERE task_id ${among('uuid', 1)} AND kind = 'reserve')
    ORDER BY wallet FOR NO KEY UPDATE`,
  setBalance: 'UPDATE accounts SET anchor_quota = $2, gas_credit_wei = $3 WHERE wallet = $1',
  grant: `SELECT kind, wallet, anchors, gas_wei AS "gasWei", note FROM ledger
    WHERE grant_id = $1`,
  reservations: `SELECT task_id, wallet, cycle, gas_wei FROM ledger
    WHERE task_id ${among('uuid', 1)} AND kind = 'reserve' ORDER BY task_id, cycle`,
} as const;

export function creditStore({ read, write }: StepRunner) {
  return {
    async listLedger(wallet, limit, before) {
      const place = before ?? Number.MAX_SAFE_INTEGER;
      const page = await read(() => rows<LedgerRow>(ledgerSql.page, wallet, place, limit));
      return page.map((row) => ({ ...row, gasWei: BigInt(row.gasWei) }));
    },

    grantCredits: (grant, by) =>
      write(function* () {
        const repeated = yield* repeatedGrant(grantEntry(grant));
        if (repeated !== null) return repeated;
        yield* openAccount(grant.wallet, grant.now);
        requireRoom(yield* existing(grant.wallet), grant);
        yield* postEntries([grantEntry(grant)]);
        yield* recordAudit(grant.wallet, 'credits_granted', by, { detail: detailOf(grant) });
        return { outcome: 'granted', balance: yield* existing(grant.wallet) };
      }),

    revokeCredits: (grant, by) =>
      write(function* () {
        const repeated = yield* repeatedGrant(revokeEntry(grant));
        if (repeated !== null) return repeated;
        yield* lock(grant.wallet);
        requireCredits(yield* existing(grant.wallet), grant);
        yield* postEntries([revokeEntry(grant)]);
        yield* recordAudit(grant.wallet, 'credits_revoked', by, { detail: detailOf(grant) });
        return { outcome: 'revoked', balance: yield* existing(grant.wallet) };
      }),

    getBalance: (wallet) => read(() => balanceOf(wallet)),
  } satisfies CreditStore & Pick<AccountStore, 'listLedger'>;
}

/** The answer to a grant or revocation whose id the ledger has; null for a new id. Serializes calls with this id. */
function* repeatedGrant(entry: Parameters<typeof requireSameGrant>[1]) {
  yield* mutex(entry.grantId);
  const stored = yield* first<GrantRow>(ledgerSql.grant, entry.grantId);
  if (stored === undefined) return null;
  requireSameGrant(stored, entry);
  return { outcome: 'repeated' as const, balance: yield* existing(entry.wallet) };
}

const detailOf = ({ anchors, gasWei, note }: Grant) => `${anchors} anchors, ${gasWei} wei: ${note}`;

/** Opens the account unless it exists, and locks it. Call it inside a write. */
export function* openAccount(wallet: string, now: number): Steps<void> {
  yield* rows(ledgerSql.openAccount, wallet, now);
  yield* lock(wallet);
}

function balanceOf(wallet: string): Steps<Balance | null> {
  return firstAs(toBalance<InText<Balance>>, ledgerSql.balance, wallet);
}

/**
 * Appends entries and updates each balance once. Locks the accounts in the order of wallets. Call it inside a write;
 * balances and entries always change together.
 */
export function* postEntries(entries: readonly LedgerEntry[]): Steps<void> {
  if (entries.length === 0) return;
  const changes = sums(entries);
  const wallets = JSON.stringify([...changes.keys()]);
  const balances = yield* rows<InText<Balance>>(ledgerSql.lockBalances, wallets);
  if (balances.length !== changes.size) {
    throw new Error('The account of a ledger entry is missing');
  }
  for (const { wallet, anchorQuota, gasCreditWei } of balances.map(toBalance)) {
    const { anchors = 0, gasWei = 0n } = changes.get(wallet) ?? {};
    const values = [anchorQuota + anchors, String(gasCreditWei + gasWei)];
    yield* rows(ledgerSql.setBalance, wallet, ...values);
  }
  const appended = yield* insert('ledger', entries.map(toRow));
  if (appended.length !== entries.length) throw new Error('The ledger has such an entry already');
}

/** Locks the accounts that reserved credits for the tasks. Call it inside a write, before locking the tasks. */
export function* lockReserving(taskIds: readonly string[]): Steps<void> {
  yield* lockRows(ledgerSql.lockReserving, JSON.stringify(taskIds));
}

/** Returns the reservations of the tasks' newest cycles to the accounts. Call it inside a write. */
export function* releaseReservations(taskIds: readonly string[], at: number): Steps<void> {
  if (taskIds.length === 0) return;
  const reservationOf = yield* reservationsOf(taskIds);
  const entries = taskIds.map((taskId): LedgerEntry => {
    const { wallet, cycle, gasWei } = reservationOf(taskId);
    return { kind: 'release', wallet, anchors: 1, gasWei, taskId, cycle, at };
  });
  yield* postEntries(entries);
}

/** The reservation of each task's newest cycle. It is still there after the task is deleted. */
export function* reservationsOf(taskIds: readonly string[]) {
  type Row = { task_id: string; wallet: string; cycle: number; gas_wei: string };
  const found = yield* rows<Row>(ledgerSql.reservations, JSON.stringify(taskIds));
  const newest = new Map(found.map((row) => [row.task_id, row]));
  return (taskId: string): Reservation => {
    const row = newest.get(taskId);
    if (row === undefined) throw new Error('The task has no reservation');
    return { wallet: row.wallet, cycle: row.cycle, gasWei: -BigInt(row.gas_wei) };
  };
}

function toRow({ gasWei, taskId, grantId, cycle, note, ...row }: LedgerEntry): object {
  const ofTask = { task_id: taskId ?? null, cycle: cycle ?? null };
  const ofGrant = { grant_id: grantId ?? null, note: note ?? null };
  return { ...row, ...ofTask, ...ofGrant, gas_wei: String(gasWei) };
}

function sums(entries: readonly LedgerEntry[]): Map<string, BalanceChange> {
  const changes = new Map<string, BalanceChange>();
  for (const { wallet, anchors, gasWei } of entries) {
    const sum = changes.get(wallet) ?? { wallet, anchors: 0, gasWei: 0n };
    changes.set(wallet, { wallet, anchors: sum.anchors + anchors, gasWei: sum.gasWei + gasWei });
  }
  return changes;
}

function* existing(wallet: string): Steps<Balance> {
  const balance = yield* balanceOf(wallet);
  if (balance === null) throw new Error('The account of a grant is missing');
  return balance;
}
