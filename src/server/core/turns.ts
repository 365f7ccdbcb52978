import { fault } from './fault.ts';

export interface TurnLimits {
  /** Callers that are served at the same time, each with one call. */
  atOnce: number;
  /** Calls of one caller that may wait. */
  waiting: number;
}

/**
 * Who may go on with what is costly: each caller with one call at a time, in the order of its calls, and the
 * callers by turns, so that the many calls of one delay another by one call at most.
 */
export class Turns {
  readonly #limits: TurnLimits;
  readonly #served = new Set<string>();
  /** In the order in which the callers are served; none is empty. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /**
   * Resolves when it is the caller's turn, with what ends the turn. Throws `overloaded` when too many of its
   * calls wait.
   */
  async take(caller: string): Promise<() => void> {
    if (this.#served.size < this.#limits.atOnce && !this.#served.has(caller)) {
      this.#served.add(caller);
    } else {
      await this.#wait(caller);
    }
    return () => this.#end(caller);
  }

  async run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    const end = await this.take(caller);
    try {
      return await work();
    } finally {
      end();
    }
  }

  #wait(caller: string): Promise<void> {
    const calls = this.#waiting.get(caller) ?? [];
    if (calls.length >= this.#limits.waiting) {
      throw fault('overloaded', 'Too many calls of this account wait already; nothing was done.');
    }
    this.#waiting.set(caller, calls);
    return new Promise((resolve) => calls.push(resolve));
  }

  #end(caller: string): void {
    this.#served.delete(caller);
    for (const [next, calls] of this.#waiting) {
      if (this.#served.has(next)) continue;
      this.#waiting.delete(next);
      const [first, ...others] = calls;
      if (others.length > 0) this.#waiting.set(next, others);
      this.#served.add(next);
      first?.();
      return;
    }
  }
}
