// Keeps the agent's calls, or the tasks in its batches, below a rate limit of the service.
import { limits } from '../../protocol/limits.ts';

/** Part of the limit that the agent uses. The rest is for other programs with the same key. */
const SHARE = 0.97;
/** Calls that may start at once. */
const BURST = 8;
/** With so few calls left in a window, the agent waits for the next one. */
const RESERVE = 4;

/** A token bucket that learns the limit from the service's headers. Times are of `performance.now()`. */
export class RateBudget {
  #limit: number;
  #tokens = BURST;
  #countedAt = performance.now();
  #closedUntil = 0;

  constructor(limit: number = limits.robotCallsPerWindow) {
    this.#limit = limit;
  }

  /** Milliseconds until the next call may start; 0 for now. */
  waitMs(now = performance.now()): number {
    if (now < this.#closedUntil) return this.#closedUntil - now;
    this.#refill(now);
    return this.#tokens >= 1 ? 0 : (1 - this.#tokens) * this.#everyMs;
  }

  take(now = performance.now(), count = 1): void {
    this.#refill(now);
    this.#tokens -= count;
  }

  /** Reads the rate limit headers of an answer. `serverMs`: the service's clock, null if unknown. */
  learn(headers: Headers, serverMs: number | null, now = performance.now()): void {
    const limit = Number(headers.get('x-ratelimit-limit') ?? Number.NaN);
    const remaining = Number(headers.get('x-ratelimit-remaining') ?? Number.NaN);
    if (limit >= 1) this.#limit = limit;
    if (!(remaining <= RESERVE) || serverMs === null) return;
    this.close(limits.windowMs - (serverMs % limits.windowMs), now);
  }

  /** Stops all calls for this time. */
  close(ms: number, now = performance.now()): void {
    this.#closedUntil = Math.max(this.#closedUntil, now + ms);
  }

  /** Calls per minute. */
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
