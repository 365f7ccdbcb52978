import { createHash } from 'node:crypto';

/** A statement's text with `$1`, `$2` … for its values, and the name under which a connection keeps its plan, if there is one. */
export interface Sql {
  readonly text: string;
  readonly name: string;
  /** Whether it changes rows, which a lock alone does not. */
  readonly writes: boolean;
  /** How long the client waits for its answer, in ms; as long as for any, unless it is given. */
  readonly patienceMs?: number;
}

/** Less than any id. */
export const NO_UUID = '00000000-0000-0000-0000-000000000000';

/** Greater than any id. */
export const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const WRITES = /\b(INSERT INTO|DELETE FROM|(?<!FOR (NO KEY )?)UPDATE)\b/;

/** Make each once, when the store is built: the name follows from the text. */
export function sql(text: string): Sql {
  return {
    text,
    writes: WRITES.test(text),
    name: `svc_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`,
  };
}

/**
 * Planned each time, for the values given: where the length of a page and its place decide how it is best read. A
 * plan for any values takes a page for a tenth of what there is.
 */
export function plannedAnew(text: string): Sql {
  return { text, writes: WRITES.test(text), name: '' };
}

/**
 * What a statement may be given. Instants and counts are numbers, wei are bigints; an array is one value, for
 * `unnest`.
 */
export type SqlValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Buffer
  | readonly (string | number | bigint | boolean | null | Buffer)[];
