// Yields to other work during a long computation, so that the event loop stays responsive.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

/** Duration of a step in milliseconds; other work runs before the next step. */
const STEP_MS = 4;

/**
 * Returns a function to call between short pieces of work: it returns a promise to wait for when the step is over,
 * otherwise undefined.
 */
export function startYielding(): () => Promise<void> | undefined {
  let startedAt = performance.now();
  const next = async () => {
    await yieldToEventLoop();
    startedAt = performance.now();
  };
  return () => (performance.now() - startedAt <= STEP_MS ? undefined : next());
}

/** Runs a computation in steps; it may pause at each of its yields. */
export async function runYielding<T>(work: Generator<unknown, T>): Promise<T> {
  const step = startYielding();
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    const others = step();
    if (others !== undefined) await others;
  }
}
