// How stores begin transactions, and what else they need of a database: limits of deletions, wake-ups, purges.

import type { Lease } from '../../ports/anchoring.ts';
import { NOW, sql } from './sql.ts';
import type { Tx, Work } from './tx.ts';

type Run = <Result>(work: Work<Result>) => Promise<Result>;
type RunLeased = <Result>(lease: Lease, work: Work<Result>) => Promise<Result>;

/**
 * Shows that a process is connected to PostgreSQL: while it is, its session for notifications holds an advisory lock with
 * this key. The session began at `since` (`performance.now()`).
 */
export interface Presence {
  key: number;
  since: number;
}

/** All transactions reject with `storage_unavailable` if the database fails. */
export interface Db {
  /** Each statement sees the newest state; on PostgreSQL, each is a transaction of its own. */
  read: Run;
  /** One read-only transaction: all statements see one state. */
  snapshot: Run;
  /**
   * Resolves once it is durable. If the code throws, everything is undone. It may run again, after a conflict or a lost
   * connection, so it MUST change nothing but the database.
   */
  write: Run;
  /** For the holder of a lease. Rejects with `lease_lost` unless holder and fence own the lease now. */
  leased: { read: RunLeased; write: RunLeased };
  deletions: DeletionLimits;
  /** Whether a statement is a function call, not a round trip. Then it also blocks the event loop. */
  isInProcess: boolean;
  /** Wakes the requests that wait for the topics, on all instances. */
  wake(topics: readonly string[]): void;
  /** How often waiting requests look again, because the wake-up of another instance may be lost; null for never. */
  pollMs: number | null;
  /** How other instances see that this process runs; null on SQLite, behind a pooler, and while it connects. */
  presence(): Presence | null;
  /** Erases deleted rows from SQLite's log; does nothing on PostgreSQL. Call it after the commit of an erasure. */
  purgeLog(): Promise<void>;
  /** Waits for a purge that is due: a repeated erasure is answered only when the first one is done. */
  joinLogPurge(): Promise<void>;
}

/** Deletions in one commit, so that they do not delay other writes. */
export interface DeletionLimits {
  /** The rows that one statement deletes. */
  rowsAtOnce: number;
  /** The time that a commit takes for deletions, in ms. A single statement may take longer. */
  msPerCommit: number;
}

/** The time of the clock that all instances share, in ms. */
export async function databaseTime(tx: Tx): Promise<number> {
  const row = await tx.get<{ now: number }>(sql`SELECT ${NOW} AS now`);
  if (row === undefined) throw new Error('The database has no clock');
  return row.now;
}
