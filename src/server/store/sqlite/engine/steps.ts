// Runs store code that both databases share: synchronously, so that other writes join the same commit.

import type { Triggers } from '../../../../base/triggers.ts';
import type { Lease } from '../../../ports/anchoring.ts';
import { requireOwned } from '../../anchoring/leases.ts';
import type { Work } from '../../db/tx.ts';
import { type Either, runWork, type StepRunner } from '../../engine/steps.ts';
import type { Access } from './connections.ts';
import type { LogPurge } from './log-purge.ts';

export function stepRunner(
  { clock, read: readWork, write: writeWork }: Access,
  log: LogPurge,
  triggers: Triggers,
): StepRunner {
  const read = <Result>(work: Either<Result>) => readWork((tx) => runWork(tx, work));
  const write = <Result>(work: Either<Result>) => writeWork((tx) => runWork(tx, work));
  // The lease may have expired while the write waited: `NOW` is the time when the statement runs.
  const owned =
    <Result>(use: 'read' | 'write', lease: Lease, work: Either<Result>): Work<Result> =>
    async (tx) => {
      await requireOwned(tx, use, lease);
      return runWork(tx, work);
    };
  return {
    read,
    snapshot: read,
    leased: {
      read: (lease, work) => read(owned('read', lease, work)),
      write: (lease, work) => write(owned('write', lease, work)),
    },
    write,
    // biome-ignore lint/correctness/useYield: one process asks the database for nothing
    *clock() {
      return clock.now();
    },
    instant: () => clock.now(),
    *endOffers() {},
    *free() {},
    deletions: { rowsAtOnce: 1, msPerCommit: 5 },
    isInProcess: true,
    wake(topics) {
      for (const topic of topics) triggers.wake(topic);
    },
    pollMs: null,
    purgeLog: log.purge,
    joinLogPurge: log.join,
  };
}
