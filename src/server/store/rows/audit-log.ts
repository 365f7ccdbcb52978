// Builds rows of the audit log.

import { v7 as newId } from 'uuid';
import type { AuditKind } from '../../../protocol/audit-log.ts';
import type { Actor, AuditRecord, AuditTarget } from '../../ports/audit-log.ts';

/** The columns have the names of the API. */
export const AUDIT_COLUMNS = 'id, kind, actor, actor_name, source, target_id, detail, count, at';

const HOUR_MS = 60 * 60_000;

/** A row to insert. Failed sign-ins of one hour share a row, so that strangers cannot fill the log. */
export function auditRow(
  wallet: string,
  kind: AuditKind,
  { at, ...by }: Actor,
  target: AuditTarget = {},
): AuditRecord & { wallet: string } {
  const row = { id: newId(), wallet, kind, ...by, target_id: null, detail: null, ...target };
  return { ...row, count: 1, at: kind === 'sign_in_failed' ? at - (at % HOUR_MS) : at };
}
