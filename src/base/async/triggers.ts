// Wakes the callers of this process that wait for a topic, and ends pauses early.
import { pause } from './on-abort.ts';

/** Wakes waiters by topic, within this process. An earlier wake is lost: subscribe before you read the state. */
export class Triggers {
  readonly #waiting = new Map<string, Set<(mayBeStale: boolean) => void>>();

  /**
   * Calls `wake` at each `wake` of `topic`, until the returned function is called. Call it only once. `mayBeStale`: the
   * cause may be older than the subscription, or there may be none.
   */
  subscribe(topic: string, wake: (mayBeStale: boolean) => void): () => void {
    const listeners = this.#waiting.get(topic) ?? new Set();
    listeners.add(wake);
    this.#waiting.set(topic, listeners);
    return () => {
      listeners.delete(wake);
      if (listeners.size === 0) this.#waiting.delete(topic);
    };
  }

  /** Resolves at the next `wake` of `topic`, or when the signal aborts. */
  wait(topic: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        signal.removeEventListener('abort', wake);
        unsubscribe();
        resolve();
      };
      const unsubscribe = this.subscribe(topic, wake);
      signal.addEventListener('abort', wake);
    });
  }

  wake(topic: string, mayBeStale = false): void {
    for (const wake of [...(this.#waiting.get(topic) ?? [])]) wake(mayBeStale);
  }

  wakeAll(): void {
    for (const topic of [...this.#waiting.keys()]) this.wake(topic, true);
  }

  /** The number of topics with a waiter. */
  get size(): number {
    return this.#waiting.size;
  }
}

export type Trigger = ReturnType<typeof createTrigger>;

/** A pause that can be ended early. A `wake` between two waits is not lost. */
export function createTrigger() {
  let waking = new AbortController();
  let busySince: number | null = performance.now();
  return {
    /** When the last wait ended (`performance.now()`); null during a wait. */
    get busySince() {
      return busySince;
    },
    /** Ends the current wait, or else the next one before it starts. */
    wake() {
      waking.abort();
    },
    /** Resolves at the first `wake`, or after `ms`. */
    async wait(ms: number): Promise<void> {
      if (!waking.signal.aborted && ms > 0) {
        busySince = null;
        await pause(ms, waking.signal).catch(() => {});
      }
      busySince = performance.now();
      waking = new AbortController();
    },
  };
}
