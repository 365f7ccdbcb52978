// Runs store code that both databases share: synchronously, so that other writes join the same commit.

import type { Database, Statement } from 'better-sqlite3';
import { alertSql } from '../../alerts.ts';
import { insertColumns, type Step, type StepRunner, type Steps } from '../../steps.ts';
import { webhookSql } from '../../webhooks.ts';
import type { Access } from './connections.ts';

export type RunSteps = <Result>(steps: Steps<Result>) => Result;

export function stepRunner({ reader, writer, read, write }: Access): StepRunner {
  const [reading, writing] = [runOn(reader), runOn(writer)];
  return {
    read: (steps) => read(() => reading(steps())),
    write: (steps) => write(() => writing(steps())),
  };
}

/** Runs steps on the connection. On the writer, call it inside a write. */
export function runOn(db: Database): RunSteps {
  const texts = [...Object.values(webhookSql), ...Object.values(alertSql)];
  const statements = new Map(texts.map((text) => [text as string, preparedOn(db, text)]));
  function run(step: Step): object[] {
    if ('lock' in step) return [];
    if ('text' in step) return found(statements.get(step.text))(step.values);
    const columns = insertColumns[step.insert].split(' ');
    const text = `INSERT INTO ${step.insert} (${columns.join(', ')})
      VALUES (${columns.map((name) => `:${name}`).join(', ')}) ON CONFLICT DO NOTHING RETURNING id`;
    const insert = db.prepare<[object], object>(text);
    return step.rows.flatMap((row) => insert.all(row));
  }
  return (steps) => {
    let next = steps.next([]);
    while (!next.done) next = steps.next(run(next.value));
    return next.value;
  };
}

function found<Statement>(statement: Statement | undefined): Statement {
  if (statement === undefined) throw new Error('The statement is not listed');
  return statement;
}

function preparedOn(db: Database, text: string) {
  let statement: Statement<[object], object> | undefined;
  return (values: readonly unknown[]): object[] => {
    statement ??= db.prepare<[object], object>(text);
    const named = Object.fromEntries(values.map((value, i) => [i + 1, value]));
    if (statement.reader) return statement.all(named);
    statement.run(named);
    return [];
  };
}
