// Runs calls in turn by key, so that no account delays the others.
import { onAbort } from './on-abort.ts';

interface FairQueueLimits {
  /** Maximum number of calls that run at once, in total and of one key. */
  atOnce: number;
  ofOneAtOnce: number;
  /**
   * Maximum sum of the sizes of waiting calls, per key and in total. Above the total, the newest call of the key with
   * the most gives way, so that no number of calls keeps another key out.
   */
  waiting: { ofOne: number; inAll: number };
  /** Time after which a waiting call is rejected; undefined does not limit it. */
  longestWaitMs: number | undefined;
  /** Creates the error with which further calls are rejected. */
  refusal: () => Error;
}

interface WaitingCall {
  size: number;
  begin: () => void;
  reject: (error: unknown) => void;
}

/** The waiting calls of one key, and the sum of their sizes. */
interface WaitingCalls {
  list: WaitingCall[];
  size: number;
}

const UNBOUNDED = {
  ofOneAtOnce: 1,
  waiting: { ofOne: Number.POSITIVE_INFINITY, inAll: Number.POSITIVE_INFINITY },
  longestWaitMs: undefined,
  refusal: () => new Error('Too many calls wait'),
};

/**
 * A queue for costly work. Each key runs its calls in their order, one at a time by default, and the keys take turns, so
 * that many calls of one key delay another key by one call at most. Without limits any number of calls may wait.
 */
export class FairQueue {
  readonly #limits: FairQueueLimits;
  /** Calls that run, by key and in total. */
  readonly #served = new Map<string, number>();
  #running = 0;
  /** In the order in which the keys are served. No list is empty. */
  readonly #waiting = new Map<string, WaitingCalls>();
  #sizeWaiting = 0;

  constructor(limits: Pick<FairQueueLimits, 'atOnce'> & Partial<FairQueueLimits>) {
    this.#limits = { ...UNBOUNDED, ...limits };
  }

  /**
   * Waits for the key's turn; resolves with a function that ends the turn. Rejects with the refusal if too much is
   * waiting or the turn does not come in time, and with the reason of `signal` if it aborts before the turn.
   */
  async take(
    key: string,
    { size = 1, signal }: { size?: number; signal?: AbortSignal } = {},
  ): Promise<() => void> {
    signal?.throwIfAborted();
    if (!this.#begin(key)) await this.#wait(key, size, signal);
    return () => this.#end(key);
  }

  /** Runs `work` in the key's turn, at once if possible. Rejects as `take`. */
  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (!this.#begin(key)) await this.#wait(key, 1, signal);
    try {
      return await work();
    } finally {
      this.#end(key);
    }
  }

  #begin(key: string): boolean {
    if (this.#running >= this.#limits.atOnce || this.#isAtLimit(key)) return false;
    this.#running += 1;
    this.#served.set(key, (this.#served.get(key) ?? 0) + 1);
    return true;
  }

  #isAtLimit(key: string): boolean {
    return (this.#served.get(key) ?? 0) >= this.#limits.ofOneAtOnce;
  }

  #wait(key: string, size: number, signal?: AbortSignal): Promise<void> {
    const { waiting, longestWaitMs, refusal } = this.#limits;
    const ofKey = (this.#waiting.get(key)?.size ?? 0) + size;
    if (ofKey > waiting.ofOne) throw refusal();
    while (this.#sizeWaiting + size > waiting.inAll) {
      const [largest, calls] = this.#largest();
      const last = calls?.list.at(-1);
      if (calls === undefined || last === undefined || calls.size <= ofKey) throw refusal();
      this.#remove(largest, last);
      last.reject(refusal());
    }
    return new Promise((resolve, reject) => {
      let forget = () => {};
      const begin = () => {
        forget();
        resolve();
      };
      const call = { size, begin, reject };
      const giveUp = (reason: unknown) => {
        if (this.#remove(key, call)) reject(reason);
      };
      const calls = this.#waiting.get(key) ?? { list: [], size: 0 };
      this.#waiting.set(key, calls);
      calls.list.push(call);
      calls.size += size;
      this.#sizeWaiting += size;
      if (signal) forget = onAbort(signal, () => giveUp(signal.reason));
      if (longestWaitMs !== undefined) {
        setTimeout(() => giveUp(refusal()), longestWaitMs).unref();
      }
    });
  }

  #end(key: string): void {
    this.#running -= 1;
    const left = (this.#served.get(key) ?? 1) - 1;
    if (left > 0) this.#served.set(key, left);
    else this.#served.delete(key);
    for (const [next, calls] of this.#waiting) {
      const [first] = calls.list;
      if (first === undefined || this.#isAtLimit(next)) continue;
      this.#remove(next, first);
      // The key goes to the end, unless no call of it waits any more.
      if (this.#waiting.delete(next)) this.#waiting.set(next, calls);
      this.#begin(next);
      first.begin();
      return;
    }
  }

  /** The key with the most, and its calls. */
  #largest(): [string, WaitingCalls?] {
    let found: [string, WaitingCalls?] = [''];
    for (const one of this.#waiting) if (one[1].size > (found[1]?.size ?? 0)) found = one;
    return found;
  }

  /** False if the call is no longer waiting. */
  #remove(key: string, call: WaitingCall): boolean {
    const calls = this.#waiting.get(key);
    const place = calls?.list.indexOf(call) ?? -1;
    if (calls === undefined || place < 0) return false;
    calls.list.splice(place, 1);
    calls.size -= call.size;
    this.#sizeWaiting -= call.size;
    if (calls.list.length === 0) this.#waiting.delete(key);
    return true;
  }
}
