// Counts calls against the rate limits, in rows that all instances share.

import { limits } from '../../../../protocol/limits.ts';
import type { RateCount } from '../../../ports/sign-in.ts';
import { type RateScope, rateCount, rateLimits } from '../../rows/account.ts';
import { sql } from './connections.ts';
import type { Access } from './transactions.ts';

/** Expired counters deleted per statement. */
const DELETED_AT_ONCE = 1_000;

const CALL = `call AS MATERIALIZED (
    SELECT now, now - now % ${limits.windowMs} AS window_start FROM instant_or($1) AS now
  )`;

const deleteOld = sql(`DELETE FROM rate_counters WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM rate_counters WHERE window_start < $1 LIMIT ${DELETED_AT_ONCE}
    FOR UPDATE SKIP LOCKED))`);

/** The columns that `counting` and `peeking` add to a row. `used` is null if nothing was counted. */
export interface CountedRow {
  now: number;
  used: number | null;
}

/**
 * SQL of two CTEs. `call` has the instant and the window. `counted` counts one call for the `key` that `subject`
 * selects, unless it selects none or the limit is reached. `$1` is `access.instant()`. The calls of all instances
 * update one row, so each sees the count of the one before.
 */
export function counting(scope: RateScope, subject: string): string {
  return `${CALL}, counted AS (
    INSERT INTO rate_counters AS c (window_start, scope, key, used)
    SELECT call.window_start, '${scope}', subject.key, 1 FROM call, (${subject}) AS subject
    ON CONFLICT (window_start, scope, key) DO UPDATE SET used = c.used + 1
    WHERE c.used < ${rateLimits[scope]}
    RETURNING used
  )`;
}

/** As `counting`, but `counted` only reads. */
export function peeking(scope: RateScope, subject: string): string {
  return `${CALL}, counted AS (
    SELECT c.used FROM call, (${subject}) AS subject
    JOIN rate_counters c ON c.scope = '${scope}' AND c.key = subject.key
    WHERE c.window_start = call.window_start
  )`;
}

export function toCounted(scope: RateScope, { now, used }: CountedRow): RateCount {
  return rateCount(scope, { used: used ?? rateLimits[scope], allowed: used !== null, now });
}

export function toPeeked(scope: RateScope, { now, used }: CountedRow): RateCount {
  return rateCount(scope, { used: used ?? 0, allowed: true, now });
}

/**
 * Deletes the counters of past windows when the first call of a new window is counted. Each instance does so. After a
 * failure, the next window's first call deletes them.
 */
export function oldWindows(access: Access): (counted: CountedRow) => void {
  let newest = 0;
  async function remove(before: number): Promise<void> {
    while ((await access.run(deleteOld, [before])) === DELETED_AT_ONCE);
  }
  return ({ now }) => {
    const window = now - (now % limits.windowMs);
    if (window <= newest) return;
    newest = window;
    remove(window - limits.windowMs).catch(() => {});
  };
}
