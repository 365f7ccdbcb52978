// Runs store code that both databases share.

import type { Triggers } from '../../../../base/triggers.ts';
import { whileOwned } from '../../anchoring/leases.ts';
import { asWork, type StepRunner, type WorkOrSteps } from '../../engine/steps.ts';
import type { Access } from './connections.ts';
import type { LogPurge } from './log-purge.ts';

export function stepRunner(
  { clock, read: readWork, write: writeWork }: Access,
  log: LogPurge,
  triggers: Triggers,
): StepRunner {
  const read = <Result>(work: WorkOrSteps<Result>) => readWork(asWork(work));
  const write = <Result>(work: WorkOrSteps<Result>) => writeWork(asWork(work));
  return {
    read,
    snapshot: read,
    leased: {
      read: (lease, work) => read(whileOwned('read', lease, asWork(work))),
      write: (lease, work) => write(whileOwned('write', lease, asWork(work))),
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
