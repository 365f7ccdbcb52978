import { setImmediate as nextTurn } from 'node:timers/promises';

/** Well below what a request may wait for the event loop. */
const SLICE_MS = 4;

/** Runs a computation that stops at each of its steps, and lets the event loop turn whenever a slice of time is used up. */
export async function inSlices<T>(steps: Generator<void, T>): Promise<T> {
  let until = performance.now() + SLICE_MS;
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (performance.now() < until) continue;
    await nextTurn();
    until = performance.now() + SLICE_MS;
  }
}
