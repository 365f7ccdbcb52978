// Defines SQL statements: their text, plan name and values.

import { createHash } from 'node:crypto';

/** A prepared statement. */
export interface Sql {
  /** The text, with `$1`, `$2` … for values. */
  readonly text: string;
  /** The name under which a connection keeps the plan; empty if it keeps none. */
  readonly name: string;
  /** True if it changes rows. A lock alone does not. */
  readonly writes: boolean;
  /** The client's timeout for this statement, in ms. Default: that of the connection. */
  readonly patienceMs?: number;
}

const WRITES = /\b(INSERT INTO|DELETE FROM|(?<!FOR (NO KEY )?)UPDATE)\b/;

/** Defines a statement, named by the hash of its text. Call it once per statement, at module level. */
export function sql(text: string): Sql {
  return {
    text,
    writes: WRITES.test(text),
    name: `svc_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`,
  };
}

/**
 * Defines a statement that is planned for its values at each call. Use it for pages, whose best plan depends on length
 * and position: a generic plan assumes that a page is a tenth of all rows.
 */
export function plannedAnew(text: string): Sql {
  return { text, writes: WRITES.test(text), name: '' };
}

/**
 * A value of a statement. Instants and counts are numbers, wei are bigints. An array is one value, for `unnest`.
 */
export type SqlValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Buffer
  | readonly (string | number | bigint | boolean | null | Buffer)[];
