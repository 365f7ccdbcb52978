// An account: its balance, grants and ledger.
import type { Actor } from './audit-log.ts';

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
  getBalance(wallet: string): Promise<Balance | null>;
}

export interface LedgerRecord {
  /** Position in the ledger; increases with every entry. */
  seq: number;
  kind: 'grant' | 'reserve' | 'settle' | 'release';
  /** Signed. */
  anchors: number;
  /** Signed. */
  gasWei: bigint;
  taskId: string | null;
  /** The task's reservation cycle; every reservation starts a new one. Null for a grant. */
  cycle: number | null;
  /** Null unless `kind` is `grant`. */
  grantId: string | null;
  note: string | null;
  at: number;
}

/** What the operator sees of an account. */
export interface AccountSummary extends Balance {
  createdAt: number;
  /** Null if the account is active. */
  suspendedAt: number | null;
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
   * False if the wallet has no account. `reason` goes to the audit log, unless nothing changes.
   */
  suspendAccount(
    wallet: string,
    isSuspended: boolean,
    by: Actor,
    reason: string | null,
  ): Promise<boolean>;
  countUsed(wallet: string): Promise<{ robots: number; fleets: number }>;
  /** The key that signs pagination cursors (core/paging.ts): 32 random bytes, the same for the life of the database. */
  cursorKey(): Promise<Uint8Array>;
  /** Newest first. `before` is the last `seq` of the previous page. */
  listLedger(wallet: string, limit: number, before: number | null): Promise<LedgerRecord[]>;
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
  /** Those that have begun and not ended. */
  listDeletions(): Promise<Deletion[]>;
  isDeleting(deletion: Deletion): Promise<boolean>;
  /**
   * Deletes alerts and the audit log in small commits, and the mark. The wallet can sign in again, to its remaining
   * credits, unless it is suspended. Does nothing if the deletion has ended.
   */
  endDeletion(deletion: Deletion): Promise<void>;
}
