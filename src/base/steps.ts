import { setImmediate as yieldToOthers } from 'node:timers/promises';

/** A step ends after so long; others are served before the next. */
const STEP_MS = 4;

/** Answers what to wait for between two pieces of work, each of them short. */
export function startSteps(): () => Promise<void> {
  let startedAt = performance.now();
  return async () => {
    if (performance.now() - startedAt <= STEP_MS) return;
    await yieldToOthers();
    startedAt = performance.now();
  };
}

/** Maps in order, in steps. */
export async function mapInSteps<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  const step = startSteps();
  for (const item of items) {
    results.push(map(item));
    await step();
  }
  return results;
}

/** Runs a computation that may pause at each of its yields, in steps. */
export async function inSteps<T>(work: Generator<unknown, T>): Promise<T> {
  const step = startSteps();
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    await step();
  }
}
