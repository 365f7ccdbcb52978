import { limits } from '../../../../protocol/limits.ts';
import type { RateCount } from '../../../ports/rate-count.ts';
import { type RateScope, rateCount, rateLimits } from '../../rows/sign-in.ts';
import { sql } from './sql.ts';
import type { Access } from './transactions.ts';

/** What a statement that counts answers beside its own columns; `used` is null where nothing was counted. */
export interface CountedRow {
  now: number;
  used: number | null;
}

/**
 * The CTEs `call`, which has the instant and the window, and `counted`, which counts one call for the `key` that
 * `subject` selects, if it does and the window is not used up. `$1` is `access.instant()`. Calls of all instances
 * meet in one row: each sees what the one before it counted.
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

/** As `counting`, with a `counted` that only reads. */
export function peeking(scope: RateScope, subject: string): string {
  return `${CALL}, counted AS (
    SELECT c.used FROM call, (${subject}) AS subject
    JOIN rate_counters c ON c.scope = '${scope}' AND c.key = subject.key
    WHERE c.window_start = call.window_start
  )`;
}

const CALL = `call AS MATERIALIZED (
    SELECT now, now - now % ${limits.windowMs} AS window_start FROM instant_or($1) AS now
  )`;

export function toCounted(scope: RateScope, { now, used }: CountedRow): RateCount {
  return rateCount(scope, { used: used ?? rateLimits[scope], allowed: used !== null, now });
}

export function toPeeked(scope: RateScope, { now, used }: CountedRow): RateCount {
  return rateCount(scope, { used: used ?? 0, allowed: true, now });
}

/** How many counters of windows that are over one statement deletes. */
const DELETED_AT_ONCE = 1_000;

const deleteOld = sql(`DELETE FROM rate_counters WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM rate_counters WHERE window_start < $1 LIMIT ${DELETED_AT_ONCE}
    FOR UPDATE SKIP LOCKED))`);

/**
 * Deletes, as soon as a call is counted in a new window, what is left of those before; some instance does it. Where
 * it fails the next window's does it.
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
