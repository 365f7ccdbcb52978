// Runs code that yields its statements on a connection.

import { insertColumns } from '../../db/rows.ts';
import { statements as texts } from '../../engine/statements.ts';
import type { Step, Steps } from '../../engine/steps.ts';
import { queueSql } from '../anchor-queue.ts';
import { plannedAnew, type Queries, sql } from './connections.ts';

export const INSTANT = 'SELECT instant_or($1) AS now';
const ownTexts = [INSTANT, ...Object.values(queueSql)];
const statements = new Map([...texts, ...ownTexts].map((text) => [text, sql(text)]));
const inserts = Object.fromEntries(
  Object.entries(insertColumns).map(([table, names]) => {
    const columns = names.replaceAll(' ', ', ');
    const [id] = names.split(' ');
    const text = `INSERT INTO ${table} (${columns}) SELECT ${columns}
      FROM jsonb_populate_recordset(NULL::${table}, $1) ON CONFLICT DO NOTHING RETURNING ${id} AS id`;
    return [table, sql(text)];
  }),
);
const lockAccount = sql('SELECT FROM accounts WHERE wallet = $1 FOR NO KEY UPDATE');
const lockName = sql('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))');

/** Runs steps one after the other. For changes, call it inside a write. */
export async function runSteps<Result>(on: Queries, steps: Steps<Result>): Promise<Result> {
  let next = steps.next([]);
  while (!next.done) next = steps.next(await run(on, next.value));
  return next.value;
}

async function run(on: Queries, step: Step): Promise<object[]> {
  if ('lock' in step) return on.rows(lockAccount, [step.lock]);
  if ('mutex' in step) return on.rows(lockName, [step.mutex]);
  const [statement, values] =
    'text' in step
      ? [statements.get(step.text), step.values]
      : [inserts[step.insert], [JSON.stringify(step.rows)]];
  if (statement === undefined) throw new Error('The statement is not listed');
  return on.rows('isPage' in step ? plannedAnew(statement.text) : statement, values);
}
