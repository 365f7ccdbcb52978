// Runs the statements of one transaction on a connection.

import type { Database } from 'better-sqlite3';
import { type Sql, Statements, type Value } from '../../db/sql.ts';
import type { Tx } from '../../db/tx.ts';
import type { Steps } from '../../engine/steps.ts';
import { runOn } from './run-steps.ts';

/** A prepared statement. */
interface Prepared {
  all(values: readonly Value[]): object[];
  run(values: readonly Value[]): number;
}

/** A statement that only PostgreSQL needs, such as a lock. */
const nothing: Prepared = { all: () => [], run: () => 0 };

export function statementsOn(db: Database, now: () => number): Statements<Prepared> {
  return new Statements('sqlite', now, (text) =>
    text.trim() === '' ? nothing : prepare(db, text),
  );
}

export class SqliteTx implements Tx {
  readonly #db: Database;
  readonly #statements: Statements<Prepared>;
  #hasEnded = false;
  /** The error of the statement that failed. */
  failure: Error | null = null;

  constructor(db: Database, statements: Statements<Prepared>) {
    this.#db = db;
    this.#statements = statements;
  }

  all<Row extends object>(statement: Sql): Row[] {
    // The type of the rows is what the caller's statement selects.
    return this.#execute(statement, (prepared, values) => prepared.all(values)) as Row[];
  }

  get<Row extends object>(statement: Sql): Row | undefined {
    return this.all<Row>(statement)[0];
  }

  run(statement: Sql): number {
    return this.#execute(statement, (prepared, values) => prepared.run(values));
  }

  steps<Result>(steps: Steps<Result>): Result {
    return runOn(this.#db)(steps);
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
 * Prepares a statement. It binds and reads by position (docs/decisions/030-optimizations-that-pay.md): better-sqlite3
 * would look up each name again for each row.
 */
function prepare(db: Database, text: string): Prepared {
  const statement = db.prepare<unknown[], Value[]>(text);
  if (!statement.reader) {
    const run = (values: readonly Value[]) => statement.run(values).changes;
    return {
      run,
      all(values) {
        run(values);
        return [];
      },
    };
  }
  const columns = statement.raw().columns();
  const names = columns.map(({ name }) => name);
  // Parsed from a text, so that V8 knows all rows by one hidden class. Else a row of many columns is a hash table.
  const emptyRow = JSON.stringify(Object.fromEntries(names.map((name) => [name, null])));
  const empty: Record<string, Value> = JSON.parse(emptyRow);
  return {
    run: (values) => statement.all(values).length,
    all: (values) =>
      statement.all(values).map((row) => {
        const named = { ...empty };
        for (let i = 0; i < names.length; i += 1) named[names[i] as string] = row[i] as Value;
        return named;
      }),
  };
}
