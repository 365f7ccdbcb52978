// Counts calls against the rate limits, in memory.

import type { Database } from 'better-sqlite3';
import type { Clock } from '../../../../base/clock.ts';
import { limits } from '../../../../protocol/limits.ts';
import type { RateCount } from '../../../ports/sign-in.ts';
import { type RateScope, rateCount, rateLimits } from '../../rate-limits.ts';

/** Keys per scope. Beyond it the oldest counter is dropped, because anyone can invent wallets. */
const MAX_KEYS = 200_000;

/**
 * Counts calls in windows aligned to full minutes of the clock. The counters are saved only when the store closes, so a
 * crash resets the current window.
 */
export class RateCounters {
  readonly #clock: Clock;
  readonly #used: Record<RateScope, Map<string, number>> = {
    challenge: new Map(),
    account: new Map(),
    robot: new Map(),
    batch: new Map(),
  };
  #window: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#window = windowAt(clock.now());
  }

  /** Counts `more`, unless the window has no room for all of it. */
  count(scope: RateScope, key: string, more = 1): RateCount {
    const now = this.#enterWindow();
    const counts = this.#used[scope];
    const used = counts.get(key) ?? 0;
    if (used + more > rateLimits[scope]) return rateCount(scope, { used, allowed: false, now });
    counts.set(key, used + more);
    if (counts.size > MAX_KEYS) {
      const [oldest = ''] = counts.keys();
      counts.delete(oldest);
    }
    return rateCount(scope, { used: used + more, allowed: true, now });
  }

  /** The state of the counter, without counting a call. */
  peek(scope: RateScope, key: string): RateCount {
    const now = this.#enterWindow();
    const used = this.#used[scope].get(key) ?? 0;
    return rateCount(scope, { used, allowed: true, now });
  }

  /** Saves the counters of the current window. Call it inside a write. */
  save(db: Database): void {
    this.#enterWindow();
    db.exec('DELETE FROM rate_counters');
    const insert = db.prepare('INSERT INTO rate_counters VALUES (?, ?, ?, ?)');
    for (const [scope, counts] of Object.entries(this.#used)) {
      for (const [key, used] of counts) insert.run(scope, key, this.#window, used);
    }
  }

  load(db: Database): void {
    this.#enterWindow();
    const rows = db
      .prepare<[number], { scope: RateScope; key: string; used: number }>(
        'SELECT scope, key, used FROM rate_counters WHERE window_start = ?',
      )
      .iterate(this.#window);
    for (const { scope, key, used } of rows) this.#used[scope].set(key, used);
  }

  #enterWindow(): number {
    const now = this.#clock.now();
    const window = windowAt(now);
    if (window !== this.#window) {
      for (const counts of Object.values(this.#used)) counts.clear();
      this.#window = window;
    }
    return now;
  }
}

function windowAt(now: number): number {
  return now - (now % limits.windowMs);
}
