// Names what the two databases write differently.

import { PerDialect, raw, type Sql, sql } from './sql.ts';

const none = sql``;

/** SQLite has one writer, so nothing needs locks there. */
function locking(text: string): PerDialect {
  return new PerDialect({ sqlite: none, postgres: raw(text) });
}

export const forUpdate = locking('FOR UPDATE');
export const forShare = locking('FOR SHARE');

/** A statement that SQLite skips, such as a lock. */
export function onPostgres(statement: Sql): Sql {
  return sql`${new PerDialect({ sqlite: none, postgres: statement })}`;
}

/** The values as rows with a column `value`. */
export function each(type: 'uuid' | 'text', values: readonly string[]): Sql {
  const json = JSON.stringify(values);
  return sql`${new PerDialect({
    sqlite: sql`SELECT value FROM json_each(${json})`,
    postgres: sql`SELECT value::${raw(type)} FROM json_array_elements_text(${json}::json)`,
  })}`;
}

/** A condition: the value before it is among those of the query. PostgreSQL runs the query once. */
export function selected(query: Sql): Sql {
  return sql`${new PerDialect({
    sqlite: sql`IN (SELECT * FROM (${query}))`,
    postgres: sql`= ANY (ARRAY(${query}))`,
  })}`;
}

/** A condition: the value before it is among the values. PostgreSQL looks each of them up in an index. */
export function among(type: 'uuid' | 'text', values: readonly string[]): Sql {
  return selected(each(type, values));
}
