// The store's contract for the audit log.
import type { AuditEntry } from '../../protocol/audit-log.ts';

/** Who acts, from where, and when. The members are those of the API. */
export interface Actor extends Pick<AuditEntry, 'actor' | 'actor_name' | 'source'> {
  at: number;
}

/** What an entry names; see `auditKinds`. */
export type AuditTarget = Partial<Pick<AuditEntry, 'target_id' | 'detail'>>;

export type AuditRecord = Omit<AuditEntry, 'created_at'> & { at: number };

/**
 * Writes take a `by`, and store an entry in the commit of what they change. A write that changes nothing stores none.
 * Without `by`, nothing is recorded. Entries never change; only `deleteAuditLog` deletes them.
 */
export interface AuditLogStore {
  /** Counts a failed sign-in in the account's entry for the hour. Does nothing if the wallet has no account. */
  countFailedSignIn(wallet: string, by: Actor): Promise<void>;
  /** False if the wallet has no account. */
  recordExport(wallet: string, by: Actor): Promise<boolean>;
  /** Newest first (ids are UUIDv7). `before` is the last id of the previous page. */
  listAuditLog(wallet: string, limit: number, before: string | null): Promise<AuditRecord[]>;
  /** Deletes at most `limit` of the oldest entries made before `before`. Returns whether there may be more. */
  deleteAuditLog(before: number, limit: number): Promise<boolean>;
}
