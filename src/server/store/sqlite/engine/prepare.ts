// Prepares statements.

import type { Database } from 'better-sqlite3';
import type { Value } from '../../db/sql.ts';

/** A prepared statement. Its values are bound in the order of its `?`. */
export interface Prepared {
  all(values: readonly Value[]): object[];
  /** Reads the first row only. */
  get(values: readonly Value[]): object | null;
  run(values: readonly Value[]): number;
}

/**
 * Prepares a statement. It binds and reads by position (docs/decisions/030-optimizations-that-pay.md): better-sqlite3
 * would look up each name again for each row.
 */
export function prepare(db: Database, text: string): Prepared {
  const statement = db.prepare<unknown[], Value[]>(text);
  const isReader = statement.reader;
  const columns = isReader ? statement.raw().columns() : [];
  const names = columns.map(({ name }) => name);
  // Parsed from a text, so that V8 knows all rows by one hidden class. Else a row of many columns is a hash table.
  const emptyRow = JSON.stringify(Object.fromEntries(names.map((name) => [name, null])));
  const empty: Record<string, Value> = JSON.parse(emptyRow);
  const toRow = (read: Value[]) => {
    const row = { ...empty };
    for (let i = 0; i < names.length; i += 1) row[names[i] as string] = read[i] as Value;
    return row;
  };
  return {
    run: (values) => (isReader ? statement.all(values).length : statement.run(values).changes),
    all: (values) => statement.all(values).map(toRow),
    get(values) {
      const row = statement.get(values);
      return row === undefined ? null : toRow(row);
    },
  };
}
