// Runs code that yields its statements on a connection.

import type { Database } from 'better-sqlite3';
import { insertColumns } from '../../db/rows.ts';
import { statements as texts } from '../../engine/statements.ts';
import { JOIN_PROOFS, type Step, type Steps, type StepValue } from '../../engine/steps.ts';
import { prepare } from './prepare.ts';

type RunSteps = <Result>(steps: Steps<Result>) => Result;
/** Executes a prepared statement with the values `$1`, `$2` …, and returns its rows. */
type Execute = (values: readonly StepValue[]) => object[];

const columnsOf = new Map<string, string[]>(
  Object.entries(insertColumns).map(([table, names]) => [table, names.split(' ')]),
);
const inserts = [...columnsOf].map(([table, columns]) => {
  const values = columns.map((_, i) => `$${i + 1}`).join(', ');
  const text = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${values})
    ON CONFLICT DO NOTHING RETURNING ${columns[0]} AS id`;
  return [table, text] as const;
});
/** There is one writer, so nothing needs locks. */
const ROW_LOCK = / FOR (NO KEY )?(UPDATE|SHARE)( OF \w+)?( SKIP LOCKED)?/g;
/** `$1`, `$2` …: the values of a statement. */
const PARAMETER = /\$(\d+)/g;
const TYPE_CAST = /::\w+/g;
const ELEMENTS = /json_array_elements(_text)?/g;
const INSTANT = /instant_or\((\$\d+)\)/g;
/** The condition of `newestBelow`. */
const RANGE = /\(([\w, ]+), (\w+)\) >= \((.+), 0\) AND \(\1, \2\) < \(\3, (\$\d+)\)/g;
/** SQLite's text of each listed statement, and its insert into each table that gets many rows. */
export const sqliteTexts: ReadonlyMap<string, string> = new Map([
  ...inserts,
  ...texts
    .filter((text) => !text.startsWith('LOCK TABLE'))
    .map((text): [string, string] => [
      text,
      text
        .replaceAll(ROW_LOCK, '')
        .replaceAll(TYPE_CAST, '')
        .replaceAll(ELEMENTS, 'json_each')
        .replaceAll('json_agg', 'json_group_array')
        .replaceAll(RANGE, '($1) = ($3) AND $2 < $4')
        .replaceAll(INSTANT, '$1')
        .replaceAll(JOIN_PROOFS, `${JOIN_PROOFS} LEFT JOIN proof_keys k ON k.id = p.key_id`)
        .replaceAll('= ANY (ARRAY(', 'IN (SELECT * FROM ('),
    ]),
]);
const runners = new WeakMap<Database, RunSteps>();

/** Runs steps on the connection. On the writer, call it inside a write. */
export function runOn(db: Database): RunSteps {
  const runner = runners.get(db) ?? createRunner(db);
  runners.set(db, runner);
  return runner;
}

function createRunner(db: Database): RunSteps {
  const prepared = new Map<string, Execute>();
  // At their first use: a process uses few, on one of its two connections each.
  function execute(text: string): Execute {
    const executed = prepared.get(text) ?? prepareNumbered(db, sqliteTexts.get(text));
    prepared.set(text, executed);
    return executed;
  }
  function run(step: Step): object[] {
    if ('lock' in step || 'mutex' in step || 'isLock' in step) return [];
    if ('text' in step) return execute(step.text)(step.values);
    const [insert, columns = []] = [execute(step.insert), columnsOf.get(step.insert)];
    return step.rows.flatMap((row) => insert(columns.map((column) => Reflect.get(row, column))));
  }
  return (steps) => {
    let next = steps.next([]);
    while (!next.done) next = steps.next(run(next.value));
    return next.value;
  };
}

/** Prepares a statement with the values `$1`, `$2` … */
export function prepareNumbered(db: Database, text: string | undefined): Execute {
  if (text === undefined) throw new Error('The statement is not listed');
  const order = [...text.matchAll(PARAMETER)].map(([, n]) => Number(n) - 1);
  const { all } = prepare(db, text.replaceAll(PARAMETER, '?'));
  return (values) => all(order.map((i) => values[i] ?? null));
}
