// Names what the two databases write differently, and takes locks.

import type { Tx } from './database.ts';
import { perDialect, raw, type Sql, sql, type Value } from './sql.ts';

const none = sql``;

/** A statement or a clause that SQLite leaves out, such as a lock. */
export function onPostgres(postgres: Sql): Sql {
  return perDialect({ sqlite: none, postgres });
}

// SQLite has one writer, so nothing needs locks there.
export const forUpdate = onPostgres(sql`FOR UPDATE`);
export const forShare = onPostgres(sql`FOR SHARE`);

/** Serializes writes of the account. */
export async function lockAccount(tx: Tx, wallet: string): Promise<void> {
  await tx.run(onPostgres(sql`SELECT FROM accounts WHERE wallet = ${wallet} FOR NO KEY UPDATE`));
}

/** Serializes writes that name the same. */
export async function lockName(tx: Tx, name: string): Promise<void> {
  await tx.run(onPostgres(sql`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 0))`));
}

/** The values as rows with a column `value`. */
export function each(type: 'uuid' | 'text', values: readonly string[]): Sql {
  const json = JSON.stringify(values);
  return perDialect({
    sqlite: sql`SELECT value FROM json_each(${json})`,
    postgres: sql`SELECT value::${raw(type)} FROM json_array_elements_text(${json}::json)`,
  });
}

/** A condition: the value before it is among those of the query. The forms make both databases run the query once. */
export function selected(query: Sql): Sql {
  return perDialect({
    sqlite: sql`IN (SELECT * FROM (${query}))`,
    postgres: sql`= ANY (ARRAY(${query}))`,
  });
}

/** A condition: the value before it is among the values. PostgreSQL looks each of them up in an index. */
export function among(type: 'uuid' | 'text', values: readonly string[]): Sql {
  return selected(each(type, values));
}

/** A condition: the value before it is in the JSON array of texts in the column. */
export function inList(column: Sql): Sql {
  return perDialect({
    sqlite: sql`IN (SELECT value FROM json_each(${column}))`,
    postgres: sql`IN (SELECT json_array_elements_text(${column}::json))`,
  });
}

/** The elements of a JSON array as rows with a column `value`, which is JSON. */
export function elements(values: readonly unknown[]): Sql {
  const json = JSON.stringify(values);
  return perDialect({
    sqlite: sql`json_each(${json})`,
    postgres: sql`json_array_elements(${json}::json)`,
  });
}

/** The text of a JSON object with the values of the columns. */
export function jsonObject(columns: Readonly<Record<string, string>>): Sql {
  const members = raw(
    Object.entries(columns)
      .map(([name, column]) => `'${name}', ${column}`)
      .join(),
  );
  return perDialect({
    sqlite: sql`json_object(${members})`,
    postgres: sql`json_build_object(${members})::text`,
  });
}

/** A value whose type PostgreSQL cannot see from its place. SQLite stores texts of wei as they are. */
export function typed(type: 'uuid' | 'numeric' | 'bytea', value: Value | Sql): Sql {
  return perDialect({
    sqlite: sql`${value}`,
    postgres: sql`${value}::${raw(type)}`,
  });
}

/**
 * The condition and the order of the rows whose first columns have the values and whose column `seq` is below `below`,
 * newest first. A range instead of equality: no other index of PostgreSQL has this order. With equality, the index on
 * seq has the order too, and a plan could walk through the rows of all others. SQLite finds the index by equality.
 */
export function newestBelow(
  columns: readonly string[],
  values: readonly (Value | Sql)[],
  below: Value,
): Sql {
  const names = raw(columns.join(', '));
  const given = values
    .slice(1)
    .reduce<Sql>((list, value) => sql`${list}, ${value}`, sql`${values[0] ?? null}`);
  return sql`${perDialect({
    sqlite: sql`(${names}) = (${given}) AND seq < ${below}`,
    postgres: sql`(${names}, seq) >= (${given}, 0) AND (${names}, seq) < (${given}, ${below})`,
  })} ORDER BY ${raw([...columns, 'seq'].map((column) => `${column} DESC`).join(', '))}`;
}
