// Runs code that awaits only what settles at once, and finds out if it awaits anything else.

import type { Awaitable } from '../../db/database.ts';

/**
 * The result of `work`. Rejects if `work` waits for more than microtasks: a timer, a request or another write. What is
 * queued for the next tick from a microtask runs once no microtask is left, and then nothing can settle `work` at once.
 */
export function settled<Result>(work: () => Awaitable<Result>): Awaitable<Result> {
  const result = work();
  if (!(result instanceof Promise)) return result;
  return new Promise((resolve, reject) => {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    result.finally(settle).then(resolve, reject);
    const check = () => {
      if (isSettled) return;
      reject(new Error('A transaction awaited something else than its statements'));
    };
    queueMicrotask(() => process.nextTick(check));
  });
}
