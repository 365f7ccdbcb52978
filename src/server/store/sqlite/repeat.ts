/** What deletes takes this long in one commit, so that it holds nobody up; one work may be more. */
const MS_PER_COMMIT = 5;

/**
 * Repeats `work` inside a write until it finds nothing to do, was done `limit` times, or the commit took long
 * enough; `work` answers whether it did something. `done` is how often it did; `more`: there may be more to do.
 */
export function repeatInCommit(
  limit: number,
  work: () => boolean,
): { done: number; more: boolean } {
  const until = performance.now() + MS_PER_COMMIT;
  for (let done = 0; done < limit; ) {
    if (!work()) return { done, more: false };
    done += 1;
    if (performance.now() >= until) return { done, more: true };
  }
  return { done: limit, more: true };
}
