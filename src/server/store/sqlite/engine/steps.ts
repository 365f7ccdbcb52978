// Runs store code that both databases share: synchronously, so that other writes join the same commit.

import type { Database } from 'better-sqlite3';
import { alertSql } from '../../alerts.ts';
import { insertColumns, type Step, type StepRunner, type Steps } from '../../steps.ts';
import { webhookSql } from '../../webhooks.ts';
import type { Access } from './connections.ts';

type RunSteps = <Result>(steps: Steps<Result>) => Result;

const texts = [...Object.values(webhookSql), ...Object.values(alertSql)];
const inserts = Object.entries(insertColumns).map(([table, names]) => {
  const columns = names.split(' ');
  const values = columns.map((name) => `:${name}`).join(', ');
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${values})
    ON CONFLICT DO NOTHING RETURNING id`;
});
const runners = new WeakMap<Database, RunSteps>();

export function stepRunner({ reader, writer, read, write }: Access): StepRunner {
  const [reading, writing] = [runOn(reader), runOn(writer)];
  return {
    read: (steps) => read(() => reading(steps())),
    write: (steps) => write(() => writing(steps())),
  };
}

/** Runs steps on the connection. On the writer, call it inside a write. */
export function runOn(db: Database): RunSteps {
  const runner = runners.get(db) ?? createRunner(db);
  runners.set(db, runner);
  return runner;
}

function createRunner(db: Database): RunSteps {
  const statements = new Map(
    [...texts, ...inserts].map((text) => [text as string, db.prepare<[object], object>(text)]),
  );
  function run(step: Step): object[] {
    if ('lock' in step) return [];
    const statement = statements.get('text' in step ? step.text : insertInto(step.insert));
    if (statement === undefined) throw new Error('The statement is not listed');
    if (!('text' in step)) return step.rows.flatMap((row) => statement.all(row));
    const named = Object.fromEntries(step.values.map((value, i) => [i + 1, value]));
    if (statement.reader) return statement.all(named);
    statement.run(named);
    return [];
  }
  return (steps) => {
    let next = steps.next([]);
    while (!next.done) next = steps.next(run(next.value));
    return next.value;
  };
}

function insertInto(table: keyof typeof insertColumns): string {
  return inserts[Object.keys(insertColumns).indexOf(table)] ?? '';
}
