import { ProviderFault } from './errors.ts';

export interface LaneOptions {
  /** Most tasks under way at once. */
  readonly width: number;
  /** Most tasks waiting for their turn; one more is refused at once. */
  readonly waiting: number;
}

export type Lane = <T>(task: () => Promise<T>) => Promise<T>;

/**
 * Bounds how many tasks run at once, first come, first served.
 * Rejects with `chain_unavailable` and `retry_after` 1 when the waiting room is full.
 */
export function openLane(options: LaneOptions): Lane {
  const queue: (() => void)[] = [];
  let underWay = 0;
  return async (task) => {
    if (underWay >= options.width) {
      if (queue.length >= options.waiting) {
        throw new ProviderFault('too many reads under way', { retryAfterMs: 1000 });
      }
      // The one who leaves hands its place over, so that nobody slips in between.
      await new Promise<void>((resolve) => queue.push(resolve));
    } else {
      underWay += 1;
    }
    try {
      return await task();
    } finally {
      const next = queue.shift();
      if (next === undefined) underWay -= 1;
      else next();
    }
  };
}
