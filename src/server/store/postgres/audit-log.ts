// Stores the audit log: its entries are written in the commits of what they record.

import type { AuditKind } from '../../../protocol/audit-log.ts';
import type { Actor, AuditLogStore, AuditRecord, AuditTarget } from '../../ports/audit-log.ts';
import { AUDIT_COLUMNS, auditRow } from '../rows/audit-log.ts';
import type { Queries } from './engine/connections.ts';
import { LAST_UUID, sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';

const isAccount = sql('SELECT FROM accounts WHERE wallet = $1');
const insert = sql(`INSERT INTO audit_log AS log
  SELECT * FROM jsonb_populate_record(NULL::audit_log, $1)
  ON CONFLICT (wallet, at) WHERE kind = 'sign_in_failed'
    DO UPDATE SET count = log.count + 1, source = excluded.source`);
const page = sql(`SELECT ${AUDIT_COLUMNS} FROM audit_log WHERE wallet = $1 AND id < $2
  ORDER BY id DESC LIMIT $3`);
const deleteOldest = sql(`DELETE FROM audit_log WHERE id IN (
  SELECT id FROM (SELECT id, at FROM audit_log ORDER BY id LIMIT $2) AS first WHERE at < $1)`);

export function auditLogStore(access: Access): AuditLogStore {
  return {
    async countFailedSignIn(wallet, by) {
      if ((await access.first(isAccount, [wallet])) === undefined) return;
      await access.write((tx) => recordAudit(tx, wallet, 'sign_in_failed', by));
    },

    listAuditLog: (wallet, limit, before) =>
      access.rows<AuditRecord>(page, [wallet, before ?? LAST_UUID, limit]),

    deleteAuditLog: async (before, limit) =>
      (await access.run(deleteOldest, [before, limit])) === limit,
  };
}

/** Adds an entry if there is an actor. Call it inside a write. */
export async function recordAudit(
  tx: Queries,
  wallet: string,
  kind: AuditKind,
  by: Actor | undefined,
  target?: AuditTarget,
): Promise<void> {
  if (by) await tx.run(insert, [JSON.stringify(auditRow(wallet, kind, by, target))]);
}
