// Begins and ends the deletion of an account, on either database.

import type { Deletion, DeletionStore } from '../ports/account.ts';
import { signInSql } from './sign-in.ts';
import { first, lock, rows, type StepRunner, some } from './steps.ts';

/** So that a commit does not delay others. */
const ROWS_PER_COMMIT = 500;

const IS_DELETING = 'EXISTS (SELECT 1 FROM accounts WHERE wallet = $1 AND deleting_at = $2)';
const someOf = (table: string) => `DELETE FROM ${table} WHERE id IN (
  SELECT id FROM ${table} WHERE wallet = $1 AND ${IS_DELETING} LIMIT $3) RETURNING id`;

export const deletionSql = {
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
  end: 'UPDATE accounts SET deleting_at = NULL WHERE wallet = $1 AND deleting_at = $2 RETURNING wallet',
} as const;

export function deletionStore({ read, write }: StepRunner): DeletionStore {
  return {
    beginDeletion: (wallet, now, challenge) =>
      write(function* () {
        yield* lock(wallet);
        if (challenge !== undefined) {
          const { nonce, expiresAt } = challenge;
          if (!(yield* some(signInSql.spend, nonce, expiresAt))) return null;
        }
        const deletion = yield* first<Deletion>(deletionSql.begin, wallet, now);
        yield* rows(deletionSql.endSessions, wallet);
        yield* rows(deletionSql.endKeys, wallet);
        yield* rows(deletionSql.deleteRules, wallet);
        return deletion ?? null;
      }),
    listDeletions: () => read(() => rows<Deletion>(deletionSql.list)),
    isDeleting: ({ wallet, startedAt }) => read(() => some(deletionSql.find, wallet, startedAt)),
    async endDeletion({ wallet, startedAt }) {
      for (const statement of [deletionSql.someAlerts, deletionSql.someEntries]) {
        let deleted: number;
        do {
          deleted = (await write(() => rows(statement, wallet, startedAt, ROWS_PER_COMMIT))).length;
        } while (deleted === ROWS_PER_COMMIT);
      }
      await write(function* () {
        yield* lock(wallet);
        if (!(yield* some(deletionSql.end, wallet, startedAt))) return;
        // Of calls that had begun before the deletion.
        yield* rows(deletionSql.endSessions, wallet);
        yield* rows(deletionSql.endKeys, wallet);
      });
    },
  };
}
