// Stores the checked time, which all instances share.

import { formatTimestamp } from '../../protocol/timestamp.ts';
import type { CheckedTime, CheckedTimeStore } from '../ports/checked-time.ts';
import { auditEntry } from './audit-log.ts';
import { first, insert, rows, type StepRunner } from './engine/steps.ts';

export const checkedTimeSql = {
  read: 'SELECT checked_at AS "checkedAt", confirmations FROM checked_time WHERE id = 1',
  save: `INSERT INTO checked_time (id, checked_at, confirmations) VALUES (1, $1, $2)
    ON CONFLICT (id) DO UPDATE SET checked_at = excluded.checked_at
    WHERE checked_time.confirmations = excluded.confirmations`,
  confirm: `INSERT INTO checked_time (id, checked_at, confirmations) VALUES (1, $1, 1)
    ON CONFLICT (id) DO UPDATE SET
      checked_at = excluded.checked_at, confirmations = checked_time.confirmations + 1`,
  wallets: 'SELECT a.wallet FROM accounts a ORDER BY a.wallet',
} as const;

export function checkedTimeStore({ read, write }: StepRunner): CheckedTimeStore {
  return {
    readCheckedTime: async () =>
      (await read(() => first<CheckedTime>(checkedTimeSql.read))) ?? null,

    saveCheckedTime: ({ checkedAt, confirmations }) =>
      write(function* () {
        yield* rows(checkedTimeSql.save, checkedAt, confirmations);
      }),

    confirmTime: (now, by) =>
      write(function* () {
        yield* rows(checkedTimeSql.confirm, now);
        const accounts = yield* rows<{ wallet: string }>(checkedTimeSql.wallets);
        const target = { detail: formatTimestamp(now) };
        const entries = accounts.map(({ wallet }) =>
          auditEntry(wallet, 'clock_confirmed', by, target),
        );
        yield* insert('audit_log', entries);
      }),
  };
}
