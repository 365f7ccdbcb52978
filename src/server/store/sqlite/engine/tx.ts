// Runs the statements of one transaction on a connection, and detects code that awaits anything else.

import type { Database } from 'better-sqlite3';
import { type Awaitable, requireRow, type Tx } from '../../db/database.ts';
import { type Sql, Statements, type Value } from '../../db/sql.ts';
import { type Prepared, prepare } from './prepare.ts';

/** A statement that only PostgreSQL needs, such as a lock. */
const nothing: Prepared = { all: () => [], get: () => null, run: () => 0 };

export function statementsOn(db: Database, now: () => number): Statements<Prepared> {
  return new Statements('sqlite', now, (text) =>
    text.trim() === '' ? nothing : prepare(db, text),
  );
}

export class SqliteTx implements Tx {
  readonly #statements: Statements<Prepared>;
  #hasEnded = false;
  /** The error of the statement that failed. */
  failure: Error | null = null;

  constructor(statements: Statements<Prepared>) {
    this.#statements = statements;
  }

  all<Row extends object>(statement: Sql): Row[] {
    // The type of the rows is what the caller's statement selects.
    return this.#execute(statement, (prepared, values) => prepared.all(values)) as Row[];
  }

  get<Row extends object>(statement: Sql): Row | null {
    return this.#execute(statement, (prepared, values) => prepared.get(values)) as Row | null;
  }

  one<Row extends object>(statement: Sql): Row {
    return requireRow(this.get<Row>(statement));
  }

  run(statement: Sql): number {
    return this.#execute(statement, (prepared, values) => prepared.run(values));
  }

  /** Refuses later calls. */
  end(): void {
    this.#hasEnded = true;
  }

  #execute<T>(statement: Sql, work: (prepared: Prepared, values: Value[]) => T): T {
    if (this.failure !== null) throw this.failure;
    if (this.#hasEnded) throw new Error('The transaction has ended');
    try {
      const { prepared, values } = this.#statements.find(statement);
      return work(prepared, values);
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error(String(error));
      throw this.failure;
    }
  }
}

/**
 * The result of `work`. Rejects if `work` waits for more than its statements: a timer, a request or another write. A next
 * tick that is queued from a microtask runs when no microtask is left; `work` has settled by then if nothing else is
 * awaited.
 */
export function settled<Result>(work: () => Awaitable<Result>): Awaitable<Result> {
  const result = work();
  if (!(result instanceof Promise)) return result;
  return new Promise((resolve, reject) => {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    result.finally(settle).then(resolve, reject);
    const check = () => {
      if (isSettled) return;
      reject(new Error('A transaction awaited something else than its statements'));
    };
    queueMicrotask(() => process.nextTick(check));
  });
}
