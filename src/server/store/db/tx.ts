// The handle with which the code of a transaction runs its statements.

import type { Sql } from './sql.ts';

/** SQLite answers at once, PostgreSQL after a round trip. Always `await` it. */
export type Awaitable<T> = T | Promise<T>;

/**
 * Runs statements. After one failed, all others are refused and the transaction fails, even if its code caught the
 * error. A `tx` is refused once its code has ended.
 */
export interface Tx {
  all<Row extends object>(statement: Sql): Awaitable<Row[]>;
  /** Returns the first row, if any. */
  get<Row extends object>(statement: Sql): Awaitable<Row | undefined>;
  /** Returns the number of rows that it changed. */
  run(statement: Sql): Awaitable<number>;
}

/** Code of a transaction. It awaits nothing but its `tx`: on SQLite, all writes share one connection. */
export type Work<Result> = (tx: Tx) => Awaitable<Result>;
