// Yields to other work during a long computation, so that the event loop stays responsive.
import { setImmediate as yieldToOthers } from 'node:timers/promises';

/** A step ends after so long; others are served before the next. */
const STEP_MS = 4;

/** Answers what to wait for between two pieces of work, each of them short; nothing while the step goes on. */
export function startYielding(): () => Promise<void> | undefined {
  let startedAt = performance.now();
  const next = async () => {
    await yieldToOthers();
    startedAt = performance.now();
  };
  return () => (performance.now() - startedAt <= STEP_MS ? undefined : next());
}

/** Runs a computation that may pause at each of its yields, in steps. */
export async function runYielding<T>(work: Generator<unknown, T>): Promise<T> {
  const step = startYielding();
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    const others = step();
    if (others !== undefined) await others;
  }
}

/** Runs such a computation to its end, for one that takes less than a step. */
export function atOnce<T>(work: Generator<unknown, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
