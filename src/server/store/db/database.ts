// How store code reaches its database: transactions and their statements, deletions in short commits, wake-ups, purges.

import type { Lease } from '../../ports/anchoring.ts';
import { NOW, type Sql, sql } from './sql.ts';

/** SQLite answers at once, PostgreSQL after a round trip. Always `await` it. */
export type Awaitable<T> = T | Promise<T>;

/**
 * Runs the statements of a transaction. After one failed, all others are refused and the transaction fails, even if its
 * code caught the error. A `tx` is refused once its code has ended.
 */
export interface Tx {
  all<Row extends object>(statement: Sql): Awaitable<Row[]>;
  /** Returns the first row; null if there is none. */
  get<Row extends object>(statement: Sql): Awaitable<Row | null>;
  /** Returns the row of a statement that always has one, such as a count. */
  one<Row extends object>(statement: Sql): Awaitable<Row>;
  /** Returns the number of rows that it changed. */
  run(statement: Sql): Awaitable<number>;
}

/** What `one` returns. */
export function requireRow<Row>(row: Row | null): Row {
  if (row === null) throw new Error('The statement returned no row');
  return row;
}

/** Code of a transaction. It awaits nothing but its `tx`: on SQLite, all writes share one connection. */
export type Work<Result> = (tx: Tx) => Awaitable<Result>;

type Run = <Result>(work: Work<Result>) => Promise<Result>;
type RunLeased = <Result>(lease: Lease, work: Work<Result>) => Promise<Result>;

/** Runs statements, each in a transaction of its own: `all`, `get` and `one` read, `run` writes. */
export type SingleStatements = ReturnType<typeof singleStatements>;

export function singleStatements(read: Run, write: Run) {
  return {
    all: <Row extends object>(statement: Sql) => read((tx) => tx.all<Row>(statement)),
    get: <Row extends object>(statement: Sql) => read((tx) => tx.get<Row>(statement)),
    one: <Row extends object>(statement: Sql) => read((tx) => tx.one<Row>(statement)),
    run: (statement: Sql) => write((tx) => tx.run(statement)),
  } satisfies Tx;
}

/**
 * Shows that a process is connected to PostgreSQL: while it is, its session for notifications holds an advisory lock with
 * this key. The session began at `since` (`performance.now()`).
 */
export interface Presence {
  key: number;
  since: number;
}

/** All transactions reject with `storage_unavailable` if the database fails. */
export interface Db extends SingleStatements {
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

/**
 * Repeats a deletion inside a write until it deletes nothing, `limit` rows are gone, or the time of a commit is used
 * up. `work` deletes up to a number of rows and returns how many went. `more` is true if there may be more to do.
 */
export async function deleteInCommit(
  { rowsAtOnce, msPerCommit }: DeletionLimits,
  limit: number,
  work: (rows: number) => Promise<number>,
): Promise<{ done: number; more: boolean }> {
  const until = performance.now() + msPerCommit;
  let done = 0;
  while (done < limit) {
    const deleted = await work(Math.min(rowsAtOnce, limit - done));
    if (deleted === 0) return { done, more: false };
    done += deleted;
    if (performance.now() >= until) break;
  }
  return { done, more: true };
}

/** The time of the clock that all instances share, in ms. */
export async function databaseTime(tx: Tx): Promise<number> {
  const { now } = await tx.one<{ now: number }>(sql`SELECT ${NOW} AS now`);
  return now;
}
