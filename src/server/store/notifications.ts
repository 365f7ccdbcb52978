/** Tells those who wait in this process that something may have changed. Keeps nothing for late comers. */
export class Triggers {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Resolves at the next wake-up of `topic`, or when the signal aborts. */
  wait(topic: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const listeners = this.#waiting.get(topic) ?? new Set();
      const wake = () => {
        signal.removeEventListener('abort', wake);
        listeners.delete(wake);
        if (listeners.size === 0 && this.#waiting.get(topic) === listeners) {
          this.#waiting.delete(topic);
        }
        resolve();
      };
      listeners.add(wake);
      this.#waiting.set(topic, listeners);
      signal.addEventListener('abort', wake);
    });
  }

  wake(topic: string): void {
    for (const wake of [...(this.#waiting.get(topic) ?? [])]) wake();
  }

  wakeAll(): void {
    for (const topic of [...this.#waiting.keys()]) this.wake(topic);
  }

  /** How many topics somebody waits for. */
  get size(): number {
    return this.#waiting.size;
  }
}

/* What `Triggers` tells of. */

/** A proof may be queued. */
export const QUEUE_TOPIC = 'queue';

/** A completion may be over, or its task gone. */
export function completionTopic(taskId: string): string {
  return `completion:${taskId}`;
}
