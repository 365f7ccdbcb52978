// Counts calls against the rate limits, in rows that all instances share.

import { limits } from '../../../../protocol/limits.ts';
import type { RateCount } from '../../../ports/sign-in.ts';
import { NOW, raw, type Sql, sql } from '../../db/sql.ts';
import { type RateScope, rateCount, rateLimits } from '../../rate-limits.ts';
import type { PostgresDb } from './database.ts';

/** Expired counters deleted per statement. */
const DELETED_AT_ONCE = 1_000;

const WINDOW_START = raw(`now - now % ${limits.windowMs}`);
const CALL = sql`call AS MATERIALIZED (
    SELECT now, ${WINDOW_START} AS window_start FROM ${NOW} AS now
  )`;

/** The columns that `counting` and `peeking` add to a row. `used` is null if nothing was counted. */
export interface CountedRow {
  now: number;
  used: number | null;
}

/**
 * Two CTEs. `call` has the instant and the window. `counted` counts `more` for each `key` that `subject` selects, unless
 * the limit has no room for all of it. The calls of all instances update one row, so each sees the count of
 * the one before.
 */
export function counting(scope: RateScope, subject: Sql, more = 1): Sql {
  return sql`${CALL}, counted AS (
    INSERT INTO rate_counters AS c (window_start, scope, key, used)
    SELECT call.window_start, ${raw(`'${scope}'`)}, subject.key, ${raw(String(more))} FROM call, (${subject}) AS subject
    ORDER BY subject.key
    ON CONFLICT (window_start, scope, key) DO UPDATE SET used = c.used + excluded.used
    WHERE c.used + excluded.used <= ${raw(String(rateLimits[scope]))}
    RETURNING key, used
  )`;
}

/** As `counting`, but `counted` only reads. */
export function peeking(scope: RateScope, subject: Sql): Sql {
  return sql`${CALL}, counted AS (
    SELECT c.used FROM call, (${subject}) AS subject
    JOIN rate_counters c ON c.scope = ${raw(`'${scope}'`)} AND c.key = subject.key
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
export function oldWindows({ alone }: PostgresDb): (counted: CountedRow) => void {
  let newest = 0;
  async function remove(before: number): Promise<void> {
    const deleteSome = sql`DELETE FROM rate_counters WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM rate_counters WHERE window_start < ${before}
      LIMIT ${raw(String(DELETED_AT_ONCE))} FOR UPDATE SKIP LOCKED))`;
    while ((await alone.run(deleteSome)) === DELETED_AT_ONCE);
  }
  return ({ now }) => {
    const window = now - (now % limits.windowMs);
    if (window <= newest) return;
    newest = window;
    remove(window - limits.windowMs).catch(() => {});
  };
}
