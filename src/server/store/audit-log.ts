// Stores the audit log: its entries are written in the commits of what they record.

import { v7 as newId } from 'uuid';
import type { AuditKind } from '../../protocol/audit-log.ts';
import { limits } from '../../protocol/limits.ts';
import type { Actor, AuditLogStore, AuditRecord, AuditTarget } from '../ports/account.ts';
import type { Db, Tx } from './db/database.ts';
import { insertNew, LAST_ID, NO_ID } from './db/rows.ts';
import { raw, sql } from './db/sql.ts';

/** The columns have the names of the API. */
const COLUMNS = raw('id, kind, actor, actor_name, source, target_id, detail, count, at');

const BEYOND_LIMIT = raw(`LIMIT 1 OFFSET ${limits.auditLogEntries - 1}`);

const HOUR_MS = 60 * 60_000;

export function auditLogStore({ all, get, run, write }: Db): AuditLogStore {
  async function recordCall(wallet: string, kind: AuditKind, by: Actor): Promise<boolean> {
    const account = await get(sql`SELECT wallet FROM accounts WHERE wallet = ${wallet}`);
    if (account === null) return false;
    await write((tx) => recordAudit(tx, wallet, kind, by));
    return true;
  }
  return {
    async countFailedSignIn(wallet, by) {
      await recordCall(wallet, 'sign_in_failed', by);
    },
    recordExport: (wallet, by) => recordCall(wallet, 'account_exported', by),

    listAuditLog: (wallet, limit, before) =>
      all<AuditRecord>(sql`SELECT ${COLUMNS} FROM audit_log
        WHERE wallet = ${wallet} AND id < ${before ?? LAST_ID} ORDER BY id DESC LIMIT ${limit}`),

    async deleteAuditLog(before, limit) {
      const deleted = await run(sql`DELETE FROM audit_log WHERE at < ${before} AND id IN
        (SELECT id FROM audit_log WHERE id > ${NO_ID} ORDER BY id LIMIT ${limit})`);
      return deleted === limit;
    },
  };
}

/**
 * Adds an entry if there is an actor. Failed sign-ins of one hour share an entry, so that anonymous callers cannot fill
 * the log. Call it inside a write.
 */
export async function recordAudit(
  tx: Tx,
  wallet: string,
  kind: AuditKind,
  by: Actor | undefined,
  target: AuditTarget = {},
): Promise<void> {
  if (by === undefined) return;
  const at = kind === 'sign_in_failed' ? by.at - (by.at % HOUR_MS) : by.at;
  const added = await insertNew(tx, 'audit_log', [auditEntry(wallet, kind, { ...by, at }, target)]);
  if (added.length === 0) {
    await tx.run(sql`UPDATE audit_log SET count = count + 1, source = ${by.source}
      WHERE wallet = ${wallet} AND at = ${at} AND kind = 'sign_in_failed'`);
  } else {
    await tx.run(sql`DELETE FROM audit_log WHERE wallet = ${wallet} AND id <
      (SELECT id FROM audit_log WHERE wallet = ${wallet} ORDER BY id DESC ${BEYOND_LIMIT})`);
  }
}

/** The row of a new entry. */
export function auditEntry(wallet: string, kind: AuditKind, by: Actor, target: AuditTarget) {
  return { id: newId(), wallet, kind, target_id: null, detail: null, ...target, count: 1, ...by };
}

/** As `recordAudit`, for a robot or a fleet. */
export function recordNamed(
  tx: Tx,
  kind: AuditKind,
  { id, wallet, name }: { id: string; wallet: string; name: string },
  by: Actor | undefined,
): Promise<void> {
  return recordAudit(tx, wallet, kind, by, { target_id: id, detail: name });
}
