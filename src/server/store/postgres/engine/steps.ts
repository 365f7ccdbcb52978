// Runs store code that both databases share.

import { whileOwned } from '../../anchoring/leases.ts';
import { asWork, first, rows, type StepRunner, type WorkOrSteps } from '../../engine/steps.ts';
import { usageSql } from '../../storage-usage.ts';
import { queueSql } from '../anchor-queue.ts';
import type { Queries } from './connections.ts';
import { INSTANT } from './run-steps.ts';
import type { Access } from './transactions.ts';
import { PostgresTx, statementsOf } from './tx.ts';

/** Notifications can be lost, and there are none behind a pooler. */
const POLL_MS = 1_000;

export function stepRunner(access: Access, wake: StepRunner['wake']): StepRunner {
  const templates = statementsOf(access.instant);

  async function runOn<Result>(queries: Queries, work: WorkOrSteps<Result>): Promise<Result> {
    const tx = new PostgresTx(queries, templates);
    try {
      return await asWork(work)(tx);
    } finally {
      await tx.end();
    }
  }

  const read = <Result>(work: WorkOrSteps<Result>) => access.read((on) => runOn(on, work));
  const write = <Result>(work: WorkOrSteps<Result>) => access.write((on) => runOn(on, work));
  return {
    read: <Result>(work: WorkOrSteps<Result>) => runOn(access, work),
    snapshot: read,
    leased: {
      read: (lease, work) => read(whileOwned('read', lease, asWork(work))),
      write: (lease, work) => write(whileOwned('write', lease, asWork(work))),
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
