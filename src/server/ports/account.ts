// The store's contract for accounts: balance, grants, ledger, audit log, changes and storage quotas.

import type { AuditEntry } from '../../protocol/audit-log.ts';
import type { Change } from '../../protocol/stream.ts';

export interface Balance {
  wallet: string;
  anchorQuota: number;
  gasCreditWei: bigint;
}

export interface Grant {
  /** Idempotency key: a second grant with the same id changes nothing. */
  id: string;
  wallet: string;
  anchors: number;
  gasWei: bigint;
  note: string;
  now: number;
}

export interface CreditStore {
  /**
   * Adds quota and gas credit, and opens the account if it does not exist. `repeated`: a grant with this id exists, and
   * nothing was written.
   */
  grantCredits(
    grant: Grant,
    by?: Actor,
  ): Promise<{ outcome: 'granted' | 'repeated'; balance: Balance }>;
  /**
   * Takes the credits of a grant back from an existing account: all, or none if the balance is lower. Reserved credits
   * are not in the balance. Grants and revocations share their ids.
   */
  revokeCredits(
    grant: Grant,
    by?: Actor,
  ): Promise<{ outcome: 'revoked' | 'repeated'; balance: Balance }>;
  getBalance(wallet: string): Promise<Balance | null>;
}

export interface LedgerRecord {
  /** Position in the ledger; increases with every entry. */
  seq: number;
  kind: 'grant' | 'revoke' | 'reserve' | 'settle' | 'release';
  /** Signed. */
  anchors: number;
  /** Signed. */
  gasWei: bigint;
  /** What a reservation cost in the end; null while it is open, and for other kinds. */
  costWei: bigint | null;
  taskId: string | null;
  /** The task's reservation cycle; every reservation starts a new one. Null for a grant or revocation. */
  cycle: number | null;
  /** Null unless `kind` is `grant` or `revoke`. */
  grantId: string | null;
  note: string | null;
  at: number;
}

/** What the operator sees of an account. */
export interface AccountSummary extends Balance {
  createdAt: number;
  /** Null if the account is active. */
  suspendedAt: number | null;
  /** Null if the account is active, or no reason was given. */
  suspensionReason: string | null;
  robots: number;
  /** Stored bytes, as its storage quota counts them. */
  storedBytes: number;
  /** Proofs that wait to be anchored. */
  queued: number;
  /** Anchors of the last 30 days. */
  anchors: number;
  /** Reservations of the last 30 days that came back unpaid: their proofs were refused, or deleted before signing. */
  returned: number;
  /** What anchors of the last 30 days cost beyond their reservations, with the precision of a number. */
  uncoveredWei: number;
}

export interface AccountStore {
  /** In the order of wallets. `after` is the last wallet of the previous page. */
  summarizeAccounts(now: number, limit: number, after: string | null): Promise<AccountSummary[]>;
  summarizeAccount(now: number, wallet: string): Promise<AccountSummary | null>;
  /**
   * Suspends an account, or resumes it. A suspended account cannot sign in or write; what it queued is still anchored.
   * False if the wallet has no account. `reason` goes to the audit log, unless nothing changes. Suspending a suspended
   * account changes its reason, unless `reason` is null.
   */
  suspendAccount(
    wallet: string,
    isSuspended: boolean,
    by: Actor,
    reason: string | null,
  ): Promise<boolean>;
  countUsed(wallet: string): Promise<{ robots: number; fleets: number }>;
  /** The key that encrypts pagination cursors (core/paging.ts): 32 random bytes, the same for the life of the database. */
  cursorKey(): Promise<Uint8Array>;
  /** Newest first. With a task, its reservations only. `before` is the last `seq` of the previous page. */
  listLedger(
    of: { wallet: string; taskId: string | null },
    limit: number,
    before: number | null,
  ): Promise<LedgerRecord[]>;
}

/** The deletion of an account. An account that is deleted twice has two. */
export interface Deletion {
  wallet: string;
  startedAt: number;
}

export interface DeletionStore {
  /**
   * Ends the account's sessions, tokens, robot keys and alert rules, and marks it: until the deletion ends, it is as
   * if suspended. Repeatable. Null if the wallet has no account.
   */
  beginDeletion(wallet: string, by: Actor): Promise<Deletion | null>;
  /** Deletions that have begun and not ended. */
  listDeletions(): Promise<Deletion[]>;
  isDeleting(deletion: Deletion): Promise<boolean>;
  /**
   * Deletes alerts and the audit log in small commits, and the mark. The wallet can sign in again, to its remaining
   * credits, unless it is suspended. Does nothing if the deletion has ended.
   */
  endDeletion(deletion: Deletion): Promise<void>;
}

/** The id of what changed, by kind; null if anything may have changed. */
export type Changed = { readonly [Kind in Change['kind']]?: string } | null;

/** What watchers get; null if anything may have changed. */
export type Changes = readonly Change[] | null;

/** Changes are not stored, and may be lost. The watchers then get null, so that they read everything again. */
export interface ChangeStore {
  /**
   * Passes on changes of an account, after they were committed. Returns at once. The store itself passes on what its
   * methods for anchoring change.
   */
  changed(wallet: string, changed: Changed): void;
  /** Tells all watchers of this instance that anything may have changed. */
  changedAnywhere(): void;
  /**
   * Calls `watcher` with the changes of an account, by this and all other instances, at most every 250 ms, until the
   * signal aborts.
   */
  watchChanges(wallet: string, watcher: (changes: Changes) => void, signal: AbortSignal): void;
}

/**
 * Usage is counted per account: tasks, evidence, samples and events. The counts are kept in memory and saved every 5 s.
 * A crash loses at most the last 5 s of them, and an instance sees the writes of others 5 s late. `recountStorage`
 * corrects the counts.
 */
export interface StorageStore {
  /**
   * Reserves room for a row of `bytes` until `release`, which the caller MUST call after the write, whatever its outcome.
   * `storage_quota`: the account, or the pool of accounts without a recent grant, has no room, or the disk is running
   * low and the account has no recent grant. `disk_full`: the disk has room for completions alone.
   */
  takeStorage(
    wallet: string,
    bytes: number,
    now: number,
  ): Promise<
    { outcome: 'taken'; release: () => void } | { outcome: 'storage_quota' | 'disk_full' }
  >;
  /** Counts all rows and corrects the saved usage. Returns how many accounts were wrong, and by how many bytes in all. */
  recountStorage(): Promise<{ accounts: number; bytes: number }>;
}

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
