// Stores accounts: their use, summaries, suspension and deletion.

import type { AccountStore, AccountSummary, Deletion, DeletionStore } from '../ports/account.ts';
import { recordAudit } from './audit-log.ts';
import { first, firstAs, type InText, lock, rows, type StepRunner, some } from './engine/steps.ts';
import { SUMMARY, SUMMARY_MS, toBalance } from './rows/account.ts';

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
  suspend: `UPDATE accounts SET suspended_at = $2
    WHERE wallet = $1 AND (suspended_at IS NULL) = ($3 = 1) RETURNING wallet`,
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
        const values = [isSuspended ? by.at : null, Number(isSuspended)];
        const kind = isSuspended ? 'account_suspended' : 'account_resumed';
        if (yield* some(accountSql.suspend, wallet, ...values)) {
          yield* recordAudit(wallet, kind, by, { detail: reason });
        }
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
