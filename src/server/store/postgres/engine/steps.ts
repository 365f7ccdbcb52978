// Runs store code that both databases share.

import { alertSql } from '../../alerts.ts';
import { insertColumns, type Step, type StepRunner, type Steps } from '../../steps.ts';
import { webhookSql } from '../../webhooks.ts';
import type { Queries } from './connections.ts';
import { sql } from './sql.ts';
import type { Access } from './transactions.ts';

const statements = new Map(
  [...Object.values(webhookSql), ...Object.values(alertSql)].map((text) => [
    text as string,
    sql(text),
  ]),
);
const inserts = Object.fromEntries(
  Object.entries(insertColumns).map(([table, names]) => {
    const columns = names.replaceAll(' ', ', ');
    const text = `INSERT INTO ${table} (${columns}) SELECT ${columns}
      FROM jsonb_populate_recordset(NULL::${table}, $1) ON CONFLICT DO NOTHING RETURNING id`;
    return [table, sql(text)];
  }),
);
const lockAccount = sql('SELECT FROM accounts WHERE wallet = $1 FOR NO KEY UPDATE');

export function stepRunner(access: Access): StepRunner {
  return {
    read: (steps) => runSteps(access, steps()),
    write: (steps) => access.write((tx) => runSteps(tx, steps())),
  };
}

/** Runs steps one after the other. For changes, call it inside a write. */
export async function runSteps<Result>(on: Queries, steps: Steps<Result>): Promise<Result> {
  let next = steps.next([]);
  while (!next.done) next = steps.next(await run(on, next.value));
  return next.value;
}

async function run(on: Queries, step: Step): Promise<object[]> {
  if ('lock' in step) return on.rows(lockAccount, [step.lock]);
  const [statement, values] =
    'text' in step
      ? [statements.get(step.text), step.values]
      : [inserts[step.insert], [JSON.stringify(step.rows)]];
  if (statement === undefined) throw new Error('The statement is not listed');
  return on.rows(statement, values);
}
