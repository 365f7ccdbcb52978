export interface RetryRange {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * A random part of a wait that doubles with each failure in a row (from 1), at its longest too, so that robots which
 * lost the network together do not come back together.
 */
export function retryMs(failures: number, range: RetryRange, random = Math.random): number {
  return random() * Math.min(range.firstMs * 2 ** (failures - 1), range.maxMs);
}

/** When what failed may be tried again. Times are of `performance.now()`. */
export class Retries {
  readonly #entries = new Map<string, { failures: number; at: number }>();

  /** `retryAfterMs`: the least that the service asked for. */
  failed(name: string, range: RetryRange, retryAfterMs = 0): void {
    const failures = (this.#entries.get(name)?.failures ?? 0) + 1;
    const at = performance.now() + Math.max(retryAfterMs, retryMs(failures, range));
    this.#entries.set(name, { failures, at });
  }

  /** Not before so long, and no failure. */
  hold(name: string, ms: number): void {
    const { failures, at } = this.#entries.get(name) ?? { failures: 0, at: 0 };
    this.#entries.set(name, { failures, at: Math.max(at, performance.now() + ms) });
  }

  succeeded(name: string): void {
    this.#entries.delete(name);
  }

  failuresOf(name: string): number {
    return this.#entries.get(name)?.failures ?? 0;
  }

  /** Milliseconds until it may be tried; 0 for now. */
  waitMs(name: string): number {
    const at = this.#entries.get(name)?.at ?? 0;
    return Math.max(0, at - performance.now());
  }

  /** Everything may be tried at once. */
  clear(): void {
    this.#entries.clear();
  }
}
