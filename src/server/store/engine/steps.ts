// Store code that both databases run: generators that yield statements. The engines run them.

import type { Lease } from '../../ports/anchoring.ts';
import type { insertColumns } from '../db/rows.ts';
import type { Awaitable, Tx, Work } from '../db/tx.ts';

/** Sorts after every id. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Sorts before every id. */
export const NO_ID = '00000000-0000-0000-0000-000000000000';

/** In a statement: joins the evidence to the task `t`. SQLite joins its table of keys too. */
export const JOIN_PROOFS = 'LEFT JOIN proofs p ON p.task_id = t.id';

/** Wei are texts, which both databases convert. */
export type StepValue = string | number | Buffer | null;

/** A row of the record, in which wei are texts. */
export type InText<Record> = {
  [Member in keyof Record]: Record[Member] extends bigint ? string : Record[Member];
};

type InsertTable = keyof typeof insertColumns;

export type Step =
  /** A statement of PostgreSQL, with `$1`, `$2` … for values, that SQLite understands as `sqliteTexts` translates it. */
  | { text: string; values: readonly StepValue[]; isLock?: true; isPage?: true }
  | { insert: InsertTable; rows: readonly object[] }
  /** Serializes writes of the account. */
  | { lock: string }
  /** Serializes writes that name the same. */
  | { mutex: string };

export type Steps<Result> = Generator<Step, Result, object[]>;

/** Code of a transaction. New code takes a `tx` and awaits its statements; older code yields steps. */
export type WorkOrSteps<Result> = (tx: Tx) => Awaitable<Result> | Steps<Result>;

export function asWork<Result>(work: WorkOrSteps<Result>): Work<Result> {
  return (tx) => {
    const result = work(tx);
    const isSteps = typeof result === 'object' && result !== null && 'throw' in result;
    return isSteps ? tx.steps(result as Steps<Result>) : (result as Awaitable<Result>);
  };
}

type Run = <Result>(work: WorkOrSteps<Result>) => Promise<Result>;
type RunLeased = <Result>(lease: Lease, work: WorkOrSteps<Result>) => Promise<Result>;

/** All reject with `storage_unavailable` if the database fails. */
export interface StepRunner {
  /** Each statement sees the newest state. */
  read: Run;
  /** All statements see one state. */
  snapshot: Run;
  /**
   * Resolves once it is durable. If the code throws, everything is undone. It may run again, after a conflict or a lost
   * connection, so it MUST change nothing but the database.
   */
  write: Run;
  /** For the holder of a lease. Rejects with `lease_lost` unless holder and fence own the lease now. */
  leased: { read: RunLeased; write: RunLeased };
  /** The time of the clock that all instances share. */
  clock(): Steps<number>;
  /** The value `$n` in a statement with `instant_or($n)`, which is the time of that clock. */
  instant(): number | null;
  /** Ends the offers of queued proofs, each to one sender. SQLite makes none. */
  endOffers(taskIds: readonly string[]): Steps<unknown>;
  /** Subtracts deleted rows from the usage of their accounts. SQLite has triggers for it. */
  free(deleted: readonly Freed[]): Steps<unknown>;
  deletions: DeletionLimits;
  /** Whether a statement is a function call, not a round trip. Then it also blocks the event loop. */
  isInProcess: boolean;
  /** Wakes the requests that wait for the topics, on all instances. */
  wake(topics: readonly string[]): void;
  /** How often waiting requests look again, because the wake-up of another instance may be lost; null for never. */
  pollMs: number | null;
  /** Erases deleted rows from SQLite's log. Call it after the commit of an erasure. */
  purgeLog(): Promise<void>;
  /** Waits for a purge that is due. Call it after a repeated erasure that found nothing left to erase. */
  joinLogPurge(): Promise<void>;
}

/** The account of a deleted row, if it is known, and its bytes. */
export interface Freed {
  wallet: string | null;
  bytes: number;
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
export function* deleteInCommit(
  { rowsAtOnce, msPerCommit }: DeletionLimits,
  limit: number,
  work: (rows: number) => Steps<number>,
): Steps<{ done: number; more: boolean }> {
  const until = performance.now() + msPerCommit;
  let done = 0;
  while (done < limit) {
    const deleted = yield* work(Math.min(rowsAtOnce, limit - done));
    if (deleted === 0) return { done, more: false };
    done += deleted;
    if (performance.now() >= until) break;
  }
  return { done, more: true };
}

/** In a statement: a condition, that the value before it is among those of the query. PostgreSQL runs the query once. */
export function selected(query: string): string {
  return `= ANY (ARRAY(${query}))`;
}

/** In a statement: a condition, that the value before it is in the JSON array `$n`. PostgreSQL looks up each in an index. */
export function among(type: 'uuid' | 'text', n: number): string {
  return selected(`SELECT value::${type} FROM json_array_elements_text($${n}::json)`);
}

/** The rows of a query, or those that a statement returns. */
export function* rows<Row extends object>(text: string, ...values: StepValue[]): Steps<Row[]> {
  return (yield { text, values }) as Row[];
}

/**
 * In a statement: the condition and the order of the rows whose first columns have the values and whose last one is
 * below `below`, newest first. A range instead of equality: no other index of PostgreSQL has this order. With equality,
 * the index on seq has the order too, and a plan could walk through the rows of all others. SQLite finds the index by
 * equality.
 */
export function newestBelow(columns: string[], values: string[], below: string): string {
  const [row, given] = [columns.join(', '), values.join(', ')];
  return `(${row}) >= (${given}, 0) AND (${row}) < (${given}, ${below})
    ORDER BY ${columns.map((column) => `${column} DESC`).join(', ')}`;
}

/** The rows of a page. PostgreSQL plans it for its values: a generic plan assumes that a page is a tenth of all rows. */
export function* page<Row extends object>(text: string, ...values: StepValue[]): Steps<Row[]> {
  return (yield { text, values, isPage: true }) as Row[];
}

/** The first row of a query, or of those that a statement returns. */
export function* first<Row extends object>(
  text: string,
  ...values: StepValue[]
): Steps<Row | undefined> {
  return (yield* rows<Row>(text, ...values))[0];
}

/** The first row, converted; null if there is none. */
export function* firstAs<Row extends object, Result>(
  convert: (row: Row) => Result,
  text: string,
  ...values: StepValue[]
): Steps<Result | null> {
  const row = yield* first<Row>(text, ...values);
  return row === undefined ? null : convert(row);
}

/** Locks rows or a table. SQLite skips it. */
export function* lockRows(text: string, ...values: StepValue[]): Steps<void> {
  yield { text, values, isLock: true };
}

/** Whether a statement returns a row. */
export function* some(text: string, ...values: StepValue[]): Steps<boolean> {
  return (yield* rows(text, ...values)).length > 0;
}

/** Returns the ids, which are the first column, of the rows that it stored. */
export function* insert(table: InsertTable, given: readonly object[]): Steps<string[]> {
  if (given.length === 0) return [];
  return ((yield { insert: table, rows: given }) as { id: string }[]).map(({ id }) => id);
}

export function* lock(wallet: string): Steps<void> {
  yield { lock: wallet };
}

export function* mutex(name: string): Steps<void> {
  yield { mutex: name };
}
