// Runs calls in turn by key, so that one account cannot delay the others.
export interface FairQueueLimits {
  /** Keys that are served at the same time, each with one call. */
  atOnce: number;
  /** What calls that wait may add up to, in the unit of their sizes, of one key and of all. */
  waiting: { ofOne: number; inAll: number };
  /** What one call more is refused with. */
  refusal: () => Error;
}

interface WaitingCall {
  size: number;
  begin: () => void;
}

const UNBOUNDED = {
  waiting: { ofOne: Number.POSITIVE_INFINITY, inAll: Number.POSITIVE_INFINITY },
  refusal: () => new Error('Too many calls wait'),
};

/**
 * Who may go on with what is costly: each key with one call at a time, in the order of its calls, and the
 * keys by turns, so that the many calls of one delay another by one call at most. Without bounds everybody
 * may wait.
 */
export class FairQueue {
  readonly #limits: FairQueueLimits;
  readonly #served = new Set<string>();
  /** In the order in which the keys are served; none is empty. */
  readonly #waiting = new Map<string, WaitingCall[]>();
  #sizeWaiting = 0;

  constructor(limits: Pick<FairQueueLimits, 'atOnce'> & Partial<FairQueueLimits>) {
    this.#limits = { ...UNBOUNDED, ...limits };
  }

  /**
   * Resolves when it is the key's turn, with what ends the turn. Rejects with the refusal when too much waits,
   * and with the reason of `signal` when that aborts before the turn.
   */
  async take(
    key: string,
    { size = 1, signal }: { size?: number; signal?: AbortSignal } = {},
  ): Promise<() => void> {
    signal?.throwIfAborted();
    if (!this.#begin(key)) await this.#wait(key, size, signal);
    return () => this.#end(key);
  }

  /** Begins the work at once where it is the key's turn. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (!this.#begin(key)) await this.#wait(key, 1);
    try {
      return await work();
    } finally {
      this.#end(key);
    }
  }

  #begin(key: string): boolean {
    if (this.#served.size >= this.#limits.atOnce || this.#served.has(key)) return false;
    this.#served.add(key);
    return true;
  }

  #wait(key: string, size: number, signal?: AbortSignal): Promise<void> {
    const { waiting, refusal } = this.#limits;
    const calls = this.#waiting.get(key) ?? [];
    const ofKey = calls.reduce((sum, call) => sum + call.size, size);
    if (ofKey > waiting.ofOne || this.#sizeWaiting + size > waiting.inAll) throw refusal();
    this.#sizeWaiting += size;
    return new Promise((resolve, reject) => {
      const call = { size, begin: resolve };
      this.#waiting.set(key, [...calls, call]);
      signal?.addEventListener('abort', () => {
        if (this.#remove(key, call)) reject(signal.reason);
      });
    });
  }

  #end(key: string): void {
    this.#served.delete(key);
    for (const [next, calls] of this.#waiting) {
      const [first] = calls;
      if (first === undefined || this.#served.has(next)) continue;
      this.#remove(next, first);
      this.#moveBack(next);
      this.#served.add(next);
      first.begin();
      return;
    }
  }

  /** False when the call waits no more. */
  #remove(key: string, call: WaitingCall): boolean {
    const calls = this.#waiting.get(key) ?? [];
    if (!calls.includes(call)) return false;
    const others = calls.filter((other) => other !== call);
    if (others.length > 0) this.#waiting.set(key, others);
    else this.#waiting.delete(key);
    this.#sizeWaiting -= call.size;
    return true;
  }

  #moveBack(key: string): void {
    const calls = this.#waiting.get(key);
    if (calls === undefined) return;
    this.#waiting.delete(key);
    this.#waiting.set(key, calls);
  }
}
