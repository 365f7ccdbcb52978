// Waits for a result, but not longer than a limit.
import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves with the result of `work`, or with `late` after `ms` milliseconds. `work` goes on; its later errors are ignored. */
export async function inTime<T, Late>(ms: number, work: Promise<T>, late: Late): Promise<T | Late> {
  const over = new AbortController();
  const timeout = sleep(ms, late, { signal: over.signal }).catch(() => late);
  try {
    return await Promise.race([work, timeout]);
  } finally {
    over.abort();
    work.catch(() => {});
  }
}
