// One snapshot of a database, as the checks of the invariants read it.

import type { Tx } from '../db/database.ts';

/** Its queries run on both databases. */
export interface Snapshot {
  /** Yields the rows of a query without values one by one, so that memory does not grow with the database. */
  scan<Row extends object>(query: string): AsyncIterable<Row>;
  /** For queries with values. */
  tx: Tx;
}

/** Yields violations. */
export type Invariant = (snapshot: Snapshot) => AsyncIterable<string>;

/** An invariant by a statement that selects the violations, one text per violation. */
export function selecting(statement: string): Invariant {
  return async function* ({ scan }) {
    const found = scan<{ violation: string }>(
      `WITH found (violation) AS (${statement}) SELECT violation FROM found`,
    );
    for await (const { violation } of found) yield violation;
  };
}

interface Folding<Row, Group> {
  /** The group of a row, without the row. */
  start(row: Row): Group | Promise<Group>;
  isSame(group: Group, row: Row): boolean;
  add(group: Group, row: Row): Group;
}

/** Folds each run of consecutive rows that belong together. Holds one of the groups at a time. */
export async function* folded<Row, Group>(
  rows: AsyncIterable<Row>,
  { start, isSame, add }: Folding<Row, Group>,
): AsyncGenerator<Group> {
  let group: Group | undefined;
  for await (const row of rows) {
    if (group !== undefined && !isSame(group, row)) {
      yield group;
      group = undefined;
    }
    group ??= await start(row);
    group = add(group, row);
  }
  if (group !== undefined) yield group;
}
