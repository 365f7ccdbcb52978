// Stores the checked time, which all instances share.

import { formatTimestamp } from '../../protocol/timestamp.ts';
import type { CheckedTime, CheckedTimeStore } from '../ports/checked-time.ts';
import { auditEntry } from './audit-log.ts';
import type { Db } from './db/database.ts';
import { insertNew } from './db/rows.ts';
import { sql } from './db/sql.ts';

export function checkedTimeStore({ get, write }: Db): CheckedTimeStore {
  return {
    readCheckedTime: () =>
      get<CheckedTime>(
        sql`SELECT checked_at AS "checkedAt", confirmations FROM checked_time WHERE id = 1`,
      ),

    saveCheckedTime: ({ checkedAt, confirmations }) =>
      write(async (tx) => {
        await tx.run(sql`INSERT INTO checked_time (id, checked_at, confirmations)
          VALUES (1, ${checkedAt}, ${confirmations})
          ON CONFLICT (id) DO UPDATE SET checked_at = excluded.checked_at
          WHERE checked_time.confirmations = excluded.confirmations`);
      }),

    confirmTime: (now, by) =>
      write(async (tx) => {
        await tx.run(sql`INSERT INTO checked_time (id, checked_at, confirmations) VALUES (1, ${now}, 1)
          ON CONFLICT (id) DO UPDATE SET
            checked_at = excluded.checked_at, confirmations = checked_time.confirmations + 1`);
        const accounts = await tx.all<{ wallet: string }>(
          sql`SELECT a.wallet FROM accounts a ORDER BY a.wallet`,
        );
        const target = { detail: formatTimestamp(now) };
        const entries = accounts.map(({ wallet }) =>
          auditEntry(wallet, 'clock_confirmed', by, target),
        );
        await insertNew(tx, 'audit_log', entries);
      }),
  };
}
