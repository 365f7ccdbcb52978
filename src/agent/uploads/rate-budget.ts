import { limits } from '../../protocol/limits.ts';

/** The part of the limit that the agent uses: what is left is for a second program with the same key. */
const SHARE = 0.97;
/** Calls that may follow each other at once. */
const BURST = 8;
/** Calls left in a window at which the rest of it is waited for. */
const RESERVE = 4;

/** Spreads calls evenly below the service's limit, as its headers tell it. Times are of `performance.now()`. */
export class RateBudget {
  #limit: number = limits.robotCallsPerWindow;
  #tokens = BURST;
  #countedAt = performance.now();
  #closedUntil = 0;

  /** How long until a call may be made; 0 for now. */
  waitMs(now = performance.now()): number {
    if (now < this.#closedUntil) return this.#closedUntil - now;
    this.#refill(now);
    return this.#tokens >= 1 ? 0 : (1 - this.#tokens) * this.#everyMs;
  }

  take(now = performance.now()): void {
    this.#refill(now);
    this.#tokens -= 1;
  }

  /** Learns from an answer; `serverMs` is the service's clock. */
  learn(headers: Headers, serverMs: number | null, now = performance.now()): void {
    const limit = Number(headers.get('x-ratelimit-limit') ?? Number.NaN);
    const remaining = Number(headers.get('x-ratelimit-remaining') ?? Number.NaN);
    if (limit >= 1) this.#limit = limit;
    if (!(remaining <= RESERVE) || serverMs === null) return;
    this.close(limits.windowMs - (serverMs % limits.windowMs), now);
  }

  /** No call for so long. */
  close(ms: number, now = performance.now()): void {
    this.#closedUntil = Math.max(this.#closedUntil, now + ms);
  }

  /** Calls a minute. */
  get perMinute(): number {
    return this.#limit * SHARE;
  }

  get #everyMs(): number {
    return limits.windowMs / this.perMinute;
  }

  #refill(now: number): void {
    this.#tokens = Math.min(BURST, this.#tokens + (now - this.#countedAt) / this.#everyMs);
    this.#countedAt = now;
  }
}
