// Stores the last accepted time, which all instances share.

import { formatTimestamp } from '../../protocol/timestamp.ts';
import type { AcceptedTime, CheckedTimeStore } from '../ports/checked-time.ts';
import { auditEntry } from './audit-log.ts';
import { first, insert, rows, type StepRunner } from './engine/steps.ts';

export const checkedTimeSql = {
  read: 'SELECT accepted_at AS "acceptedAt", confirmations FROM checked_time WHERE id = 1',
  save: `INSERT INTO checked_time (id, accepted_at, confirmations) VALUES (1, $1, $2)
    ON CONFLICT (id) DO UPDATE SET accepted_at = excluded.accepted_at
    WHERE checked_time.confirmations = excluded.confirmations`,
  confirm: `INSERT INTO checked_time (id, accepted_at, confirmations) VALUES (1, $1, 1)
    ON CONFLICT (id) DO UPDATE SET
      accepted_at = excluded.accepted_at, confirmations = checked_time.confirmations + 1`,
  wallets: 'SELECT a.wallet FROM accounts a ORDER BY a.wallet',
} as const;

export function checkedTimeStore({ read, write }: StepRunner): CheckedTimeStore {
  return {
    readAcceptedTime: async () =>
      (await read(() => first<AcceptedTime>(checkedTimeSql.read))) ?? null,

    saveAcceptedTime: ({ acceptedAt, confirmations }) =>
      write(function* () {
        yield* rows(checkedTimeSql.save, acceptedAt, confirmations);
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
