// Stores the audit log: its entries are written in the commits of what they record.

import { v7 as newId } from 'uuid';
import type { AuditKind } from '../../protocol/audit-log.ts';
import { limits } from '../../protocol/limits.ts';
import type { Actor, AuditLogStore, AuditRecord, AuditTarget } from '../ports/account.ts';
import { insert, LAST_ID, NO_ID, rows, type StepRunner, type Steps, some } from './engine/steps.ts';

/** The columns have the names of the API. */
const COLUMNS = 'id, kind, actor, actor_name, source, target_id, detail, count, at';

const HOUR_MS = 60 * 60_000;

export const auditSql = {
  isAccount: 'SELECT wallet FROM accounts WHERE wallet = $1',
  countAgain: `UPDATE audit_log SET count = count + 1, source = $3
    WHERE wallet = $1 AND at = $2 AND kind = 'sign_in_failed'`,
  page: `SELECT ${COLUMNS} FROM audit_log WHERE wallet = $1 AND id < $2
    ORDER BY id DESC LIMIT $3`,
  surplus: `DELETE FROM audit_log WHERE wallet = $1 AND id < (SELECT id FROM audit_log
    WHERE wallet = $1 ORDER BY id DESC LIMIT 1 OFFSET ${limits.auditLogEntries - 1}) RETURNING id`,
  expire: `DELETE FROM audit_log WHERE at < $1 AND id IN
    (SELECT id FROM audit_log WHERE id > '${NO_ID}' ORDER BY id LIMIT $2) RETURNING id`,
} as const;

export function auditLogStore({ read, write }: StepRunner): AuditLogStore {
  async function recordCall(wallet: string, kind: AuditKind, by: Actor): Promise<boolean> {
    if (!(await read(() => some(auditSql.isAccount, wallet)))) return false;
    await write(() => recordAudit(wallet, kind, by));
    return true;
  }
  return {
    async countFailedSignIn(wallet, by) {
      await recordCall(wallet, 'sign_in_failed', by);
    },
    recordExport: (wallet, by) => recordCall(wallet, 'account_exported', by),

    listAuditLog: (wallet, limit, before) =>
      read(() => rows<AuditRecord>(auditSql.page, wallet, before ?? LAST_ID, limit)),

    deleteAuditLog: async (before, limit) =>
      (await write(() => rows(auditSql.expire, before, limit))).length === limit,
  };
}

/**
 * Adds an entry if there is an actor. Failed sign-ins of one hour share an entry, so that strangers cannot fill the log.
 * Call it inside a write.
 */
export function* recordAudit(
  wallet: string,
  kind: AuditKind,
  by: Actor | undefined,
  target: AuditTarget = {},
): Steps<void> {
  if (by === undefined) return;
  const at = kind === 'sign_in_failed' ? by.at - (by.at % HOUR_MS) : by.at;
  const added = yield* insert('audit_log', [auditEntry(wallet, kind, { ...by, at }, target)]);
  if (added.length === 0) yield* rows(auditSql.countAgain, wallet, at, by.source);
  else yield* rows(auditSql.surplus, wallet);
}

/** The row of a new entry. */
export function auditEntry(wallet: string, kind: AuditKind, by: Actor, target: AuditTarget) {
  return { id: newId(), wallet, kind, target_id: null, detail: null, ...target, count: 1, ...by };
}

/** As `recordAudit`, of a robot or a fleet. */
export function recordNamed(
  kind: AuditKind,
  { id, wallet, name }: { id: string; wallet: string; name: string },
  by: Actor | undefined,
): Steps<void> {
  return recordAudit(wallet, kind, by, { target_id: id, detail: name });
}
