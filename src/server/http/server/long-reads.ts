// Lets accounts take turns with reads that take tens of milliseconds of the event loop.
import { setTimeout as sleep } from 'node:timers/promises';
import { FairQueue } from '../../../base/fair-queue.ts';
import { wireError } from '../../ports/errors.ts';

/** How many reads run at once, one per account, and how many of an account may wait. */
const READS = {
  atOnce: 2,
  waiting: { ofOne: 32, inAll: Number.POSITIVE_INFINITY },
  refusal: () =>
    wireError('overloaded', 'Too many requests of this account are waiting. Nothing was done.'),
};

/** Longest pause after a read, in ms. */
const LONGEST_PAUSE_MS = 100;

/** Runs a read in the turn of the account. */
export type LongReads = <T>(wallet: string, read: () => Promise<T>) => Promise<T>;

/** After each read, all others pause for twice the time that the event loop was busy, so that other requests go on. */
export function createLongReads(): LongReads {
  const queue = new FairQueue(READS);
  let pauseEnd = 0;
  return async (wallet, read) => {
    const end = await queue.take(wallet);
    while (pauseEnd > performance.now()) await sleep(pauseEnd - performance.now());
    const begun = performance.eventLoopUtilization();
    try {
      return await read();
    } finally {
      // By then the answer is serialized and sent, which takes longer than the read.
      setImmediate(() => {
        const { active } = performance.eventLoopUtilization(begun);
        const pause = Math.min(LONGEST_PAUSE_MS, 2 * active);
        pauseEnd = Math.max(pauseEnd, performance.now() + pause);
        end();
      });
    }
  };
}
