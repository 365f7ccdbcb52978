// Lets accounts take turns with reads that take tens of milliseconds of the event loop.
import { FairQueue } from '../../../base/fair-queue.ts';
import { wireError } from '../../ports/errors.ts';

/** How many reads run at once, and how many of an account may wait. */
const READS = {
  atOnce: 1,
  waiting: { ofOne: 32, inAll: Number.POSITIVE_INFINITY },
  refusal: () =>
    wireError('overloaded', 'Too many requests of this account are waiting. Nothing was done.'),
};

/** Longest pause after a read, in ms. */
const LONGEST_PAUSE_MS = 100;

/** Runs a read in the turn of the account. */
export type LongReads = <T>(wallet: string, read: () => Promise<T>) => Promise<T>;

/** After each read its place rests for twice as long, so that other requests get two thirds of the time. */
export function createLongReads(): LongReads {
  const queue = new FairQueue(READS);
  return async (wallet, read) => {
    const end = await queue.take(wallet);
    const startedAt = performance.now();
    try {
      return await read();
    } finally {
      setTimeout(end, Math.min(LONGEST_PAUSE_MS, 2 * (performance.now() - startedAt)));
    }
  };
}
