// Reads large tables with cursors, for the checks of invariants.

import type { Queries } from '../engine/connections.ts';
import { type Sql, sql } from '../engine/sql.ts';

/** Yields violations. It reads page by page, so memory does not grow with the database. */
export type Invariant = (tx: Queries) => AsyncIterable<string>;

/** The timeout of a statement that reads the whole database, in ms (12 hours). */
const PATIENCE_MS = 12 * 60 * 60_000;
const ROWS_AT_ONCE = 100;

const raiseTimeout = patiently(`SET LOCAL statement_timeout = ${PATIENCE_MS}`);

/** Extends the statement timeout for the rest of the transaction. */
export async function extendTimeout(tx: Queries): Promise<void> {
  await tx.run(raiseTimeout);
}

/**
 * Yields all rows of a query without values, with a cursor. Call it inside a transaction after `extendTimeout`, once
 * per query at a time.
 */
export async function* scan<Row extends object>(tx: Queries, query: string): AsyncGenerator<Row> {
  const cursor = sql(query).name;
  await tx.run(patiently(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${query}`));
  const fetch = patiently(`FETCH ${ROWS_AT_ONCE} FROM ${cursor}`);
  let rows: Row[];
  do {
    rows = await tx.rows<Row>(fetch);
    yield* rows;
  } while (rows.length === ROWS_AT_ONCE);
  await tx.run(patiently(`CLOSE ${cursor}`));
}

/** An invariant by a statement that selects the violations, one text per violation. */
export function selecting(statement: string): Invariant {
  return async function* (tx) {
    const rows = scan<{ violation: string }>(
      tx,
      `SELECT violation FROM (${statement}) AS found (violation)`,
    );
    for await (const { violation } of rows) yield violation;
  };
}

function patiently(text: string): Sql {
  return { ...sql(text), patienceMs: PATIENCE_MS };
}
