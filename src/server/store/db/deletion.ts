// Deletes many rows in short commits, so that they do not delay other writes.

import type { DeletionLimits } from './database.ts';

/**
 * Repeats a deletion inside a write until it deletes nothing, `limit` rows are gone, or the time of a commit is used
 * up. `work` deletes up to a number of rows and returns how many went. `more` is true if there may be more to do.
 */
export async function deleteInCommit(
  { rowsAtOnce, msPerCommit }: DeletionLimits,
  limit: number,
  work: (rows: number) => Promise<number>,
): Promise<{ done: number; more: boolean }> {
  const until = performance.now() + msPerCommit;
  let done = 0;
  while (done < limit) {
    const deleted = await work(Math.min(rowsAtOnce, limit - done));
    if (deleted === 0) return { done, more: false };
    done += deleted;
    if (performance.now() >= until) break;
  }
  return { done, more: true };
}
