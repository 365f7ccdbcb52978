/** Who waits until a task's completion has left the spool. */
export class SettlementWaiters {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Resolves when the task is told, or with the signal. */
  async wait(taskId: string, enough: AbortSignal): Promise<void> {
    if (enough.aborted) return;
    const { promise, resolve } = withResolvers();
    const waiting = this.#waiting.get(taskId) ?? new Set();
    this.#waiting.set(taskId, waiting.add(resolve));
    enough.addEventListener('abort', resolve, { once: true });
    await promise;
    enough.removeEventListener('abort', resolve);
    waiting.delete(resolve);
    if (waiting.size === 0 && this.#waiting.get(taskId) === waiting) this.#waiting.delete(taskId);
  }

  tell(taskId: string): void {
    for (const resolve of this.#waiting.get(taskId) ?? []) resolve();
  }
}

function withResolvers() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
