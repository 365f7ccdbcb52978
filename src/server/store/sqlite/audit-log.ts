// Stores the audit log: its entries are written in the commits of what they record.

import type { Database } from 'better-sqlite3';
import type { AuditKind } from '../../../protocol/audit-log.ts';
import type { Actor, AuditLogStore, AuditRecord, AuditTarget } from '../../ports/audit-log.ts';
import { AUDIT_COLUMNS, auditRow } from '../rows/audit-log.ts';
import type { Access } from './engine/connections.ts';
import { repeatInCommit } from './engine/group-commit.ts';

/** Sorts after every id. */
const AFTER_ALL_IDS = 'g';

export function auditLogStore({ reader, writer, read, write }: Access): AuditLogStore {
  const record = auditRecorder(writer);
  const isAccount = reader.prepare<[string]>('SELECT 1 FROM accounts WHERE wallet = ?');
  const page = reader.prepare<[string, string, number], AuditRecord>(
    `SELECT ${AUDIT_COLUMNS} FROM audit_log WHERE wallet = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  );
  const deleteOldest = writer.prepare<[number]>(
    `DELETE FROM audit_log WHERE at < ? AND id =
       (SELECT id FROM audit_log WHERE id > '' ORDER BY id LIMIT 1)`,
  );

  return {
    async countFailedSignIn(wallet, by) {
      if (await read(() => isAccount.get(wallet) === undefined)) return;
      await write(() => record(wallet, 'sign_in_failed', by));
    },

    listAuditLog: (wallet, limit, before) =>
      read(() => page.all(wallet, before ?? AFTER_ALL_IDS, limit)),

    deleteAuditLog: (before, limit) =>
      write(() => repeatInCommit(limit, () => deleteOldest.run(before).changes > 0).more),
  };
}

/** Adds an entry if there is an actor. Call it inside a write. */
export function auditRecorder(
  writer: Database,
): (wallet: string, kind: AuditKind, by: Actor | undefined, target?: AuditTarget) => void {
  const insert = writer.prepare<[AuditRecord]>(
    `INSERT INTO audit_log (wallet, ${AUDIT_COLUMNS}) VALUES
       (:wallet, :id, :kind, :actor, :actor_name, :source, :target_id, :detail, :count, :at)
     ON CONFLICT (wallet, at) WHERE kind = 'sign_in_failed'
       DO UPDATE SET count = count + 1, source = excluded.source`,
  );
  return (wallet, kind, by, target) => {
    if (by !== undefined) insert.run(auditRow(wallet, kind, by, target));
  };
}
