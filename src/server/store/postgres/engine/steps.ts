// Runs store code that both databases share.

import { whileOwned } from '../../anchoring/leases.ts';
import { statements as texts } from '../../engine/statements.ts';
import {
  first,
  insertColumns,
  rows,
  type Step,
  type StepRunner,
  type Steps,
} from '../../engine/steps.ts';
import { usageSql } from '../../storage-usage.ts';
import { queueSql } from '../anchor-queue.ts';
import type { Queries } from './connections.ts';
import { plannedAnew, sql } from './connections.ts';
import type { Access } from './transactions.ts';

/** Notifications can be lost, and there are none behind a pooler. */
const POLL_MS = 1_000;
const INSTANT = 'SELECT instant_or($1) AS now';
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

export function stepRunner(access: Access, wake: StepRunner['wake']): StepRunner {
  const snapshot: StepRunner['snapshot'] = (steps) => access.read((tx) => runSteps(tx, steps()));
  const write: StepRunner['write'] = (steps) => access.write((tx) => runSteps(tx, steps()));
  return {
    read: (steps) => runSteps(access, steps()),
    snapshot,
    leased: {
      read: (lease, steps) => snapshot(() => whileOwned('read', lease, access.instant(), steps)),
      write: (lease, steps) => write(() => whileOwned('write', lease, access.instant(), steps)),
    },
    write,
    *clock() {
      const row = yield* first<{ now: number }>(INSTANT, access.instant());
      if (row === undefined) throw new Error('The database has no clock');
      return row.now;
    },
    instant: () => access.instant(),
    endOffers: (taskIds) => rows(queueSql.endOffers, JSON.stringify(taskIds)),
    *free(deleted) {
      const freed = new Map<string, number>();
      for (const { wallet, bytes } of deleted) {
        if (wallet !== null) freed.set(wallet, (freed.get(wallet) ?? 0) - bytes);
      }
      if (freed.size > 0) yield* rows(usageSql.add, JSON.stringify([...freed]));
    },
    // One batch per commit: a second one would lock rows after the usage of their account.
    deletions: { rowsAtOnce: Number.POSITIVE_INFINITY, msPerCommit: 0 },
    isInProcess: false,
    wake,
    pollMs: POLL_MS,
    purgeLog: async () => {},
    joinLogPurge: async () => {},
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
  if ('mutex' in step) return on.rows(lockName, [step.mutex]);
  const [statement, values] =
    'text' in step
      ? [statements.get(step.text), step.values]
      : [inserts[step.insert], [JSON.stringify(step.rows)]];
  if (statement === undefined) throw new Error('The statement is not listed');
  return on.rows('isPage' in step ? plannedAnew(statement.text) : statement, values);
}
