// Calls functions when an AbortSignal aborts, and ends pauses by it.
import { setTimeout as sleep } from 'node:timers/promises';

const shared = new WeakMap<AbortSignal, { callbacks: Set<() => void>; listener: () => void }>();

/**
 * Calls `callback`, which must not throw, when the signal aborts, or now if it has, until the returned function is
 * called. All callers of a signal share one listener: with one for each of many waits, Node.js would warn of a leak.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback();
    return () => {};
  }
  const { callbacks, listener } = shared.get(signal) ?? listen(signal);
  // Of this call alone: two callers may pass the same function.
  const own = () => callback();
  callbacks.add(own);
  return () => {
    if (!callbacks.delete(own) || callbacks.size > 0) return;
    shared.delete(signal);
    signal.removeEventListener('abort', listener);
  };
}

function listen(signal: AbortSignal) {
  const callbacks = new Set<() => void>();
  const listener = () => {
    for (const callback of callbacks) callback();
  };
  const shares = { callbacks, listener };
  shared.set(signal, shares);
  signal.addEventListener('abort', listener, { once: true });
  return shares;
}

/** True after `ms` milliseconds, false as soon as the signal aborts. The wait does not keep the process alive. */
export function passed(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal, ref: false }).catch(() => false);
}

/** Resolves after `ms` milliseconds; rejects with the reason of `signal` when it aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      forget?.();
      resolve();
    }, ms);
    const forget =
      signal &&
      onAbort(signal, () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
  });
}
