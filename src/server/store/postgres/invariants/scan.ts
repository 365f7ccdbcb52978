import type { Queries } from '../engine/connections.ts';
import { type Sql, sql } from '../engine/sql.ts';

/** Answers its violations. Reads as it goes, so that memory does not grow with the database. */
export type Invariant = (tx: Queries) => AsyncIterable<string>;

/** A check reads all there is. */
const PATIENCE_MS = 12 * 60 * 60_000;
const ROWS_AT_ONCE = 100;

const bePatient = patiently(`SET LOCAL statement_timeout = ${PATIENCE_MS}`);

/** For the rest of the transaction. */
export async function takeLong(tx: Queries): Promise<void> {
  await tx.run(bePatient);
}

function patiently(text: string): Sql {
  return { ...sql(text), patienceMs: PATIENCE_MS };
}

/** All rows of a query without values, some at a time. Inside a transaction that may take long; once in each. */
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

/** The statement selects the violations, one text each. */
export function selecting(statement: string): Invariant {
  return async function* (tx) {
    const rows = scan<{ violation: string }>(
      tx,
      `SELECT violation FROM (${statement}) AS found (violation)`,
    );
    for await (const { violation } of rows) yield violation;
  };
}
