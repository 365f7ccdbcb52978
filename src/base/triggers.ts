// Wakes the callers of this process that wait for a topic.

/** Wakes waiters by topic, within this process. An earlier wake is lost: subscribe before you read the state. */
export class Triggers {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Calls `wake` at each `wake` of `topic`, until the returned function is called. Call it only once. */
  subscribe(topic: string, wake: () => void): () => void {
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

  wake(topic: string): void {
    for (const wake of [...(this.#waiting.get(topic) ?? [])]) wake();
  }

  wakeAll(): void {
    for (const topic of [...this.#waiting.keys()]) this.wake(topic);
  }

  /** The number of topics with a waiter. */
  get size(): number {
    return this.#waiting.size;
  }
}
