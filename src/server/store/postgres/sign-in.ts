// Counts and keeps challenges, and authenticates sessions.

import type { SignInStore } from '../../ports/sign-in.ts';
import {
  challengeCounter,
  keptChallenges,
  SESSION_COLUMNS,
  type SessionRow,
  toSession,
} from '../rows/sign-in.ts';
import {
  type CountedRow,
  counting,
  oldWindows,
  peeking,
  toCounted,
  toPeeked,
} from './engine/rate-counters.ts';
import { sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';

/** Expired rows deleted per write: more than a write adds, and few enough to be quick. */
const PURGED_PER_WRITE = 10;
/** Challenges beyond the limit that one write deletes at most. */
const EVICTED_PER_WRITE = 1_000;
/** The open challenges are counted once per this share of the limit that this instance saves. */
const UNCOUNTED = 0.001;

const countChallenge = sql(`WITH ${counting('challenge', 'SELECT $2::text AS key')}
  SELECT call.now, counted.used FROM call LEFT JOIN counted ON true`);
// Arrays, because a plan may run a subquery more than once. The rows that OFFSET skips are not locked.
const oldest = (where: string, kept: number) => `DELETE FROM challenges WHERE seq = ANY(ARRAY(
    SELECT seq FROM challenges WHERE seq = ANY(ARRAY(
      SELECT seq FROM challenges WHERE ${where} ORDER BY seq DESC
      LIMIT ${PURGED_PER_WRITE} OFFSET ${kept})) FOR UPDATE SKIP LOCKED))`;
// Idempotent, because a lost connection repeats it. The deletions do not see the new row, so they keep one less.
const saveChallenge = sql(`WITH call AS MATERIALIZED (SELECT instant_or($1) AS now), purged AS (
    DELETE FROM challenges WHERE seq IN (
      SELECT seq FROM challenges WHERE expires_at <= (SELECT now FROM call) ORDER BY expires_at
      LIMIT ${PURGED_PER_WRITE} FOR UPDATE SKIP LOCKED)
  ), of_wallet AS (${oldest('wallet = $3 AND source = $4', keptChallenges.ofWallet - 1)}
  ), of_source AS (${oldest('source = $4', keptChallenges.ofSource - 1)})
  INSERT INTO challenges (nonce, wallet, source, message, expires_at)
  VALUES ($2, $3, $4, $5, $6) ON CONFLICT (nonce) DO NOTHING`);
const evict = sql(`DELETE FROM challenges WHERE seq IN (
  SELECT seq FROM challenges
  WHERE seq <= (SELECT seq FROM challenges ORDER BY seq DESC OFFSET $1 LIMIT 1)
  ORDER BY seq LIMIT ${EVICTED_PER_WRITE} FOR UPDATE SKIP LOCKED)`);
const findSession = `session AS (SELECT ${SESSION_COLUMNS} FROM sessions
  WHERE token_hash = $2 AND expires_at > $3)`;
const answer = `SELECT session.*, call.now, counted.used
  FROM session CROSS JOIN call LEFT JOIN counted ON true`;
const authenticateCounted = sql(`WITH ${findSession},
  ${counting('account', 'SELECT wallet AS key FROM session')} ${answer}`);
const authenticate = sql(`WITH ${findSession},
  ${peeking('account', 'SELECT wallet AS key FROM session')} ${answer}`);

export function challengeStore(
  access: Access,
  { maxChallenges }: { maxChallenges: number },
): Pick<SignInStore, 'countChallenge' | 'saveChallenge' | 'authenticateSession'> {
  const noteWindow = oldWindows(access);
  const uncounted = Math.ceil(maxChallenges * UNCOUNTED);
  let saved = 0;

  return {
    async countChallenge(wallet, device) {
      const key = challengeCounter(wallet, device);
      const row = await access.first<CountedRow>(countChallenge, [access.instant(), key]);
      if (row === undefined) throw new Error('The challenge was not counted');
      noteWindow(row);
      return { count: toCounted('challenge', row), now: row.now };
    },

    async saveChallenge({ nonce, wallet, message, expiresAt }, source) {
      const values = [access.instant(), nonce, wallet, source, message, expiresAt];
      await access.run(saveChallenge, values);
      saved += 1;
      if (saved % uncounted === 0) await access.run(evict, [maxChallenges]);
    },

    async authenticateSession(tokenHash, counted, now) {
      const row = await access.first<CountedRow & SessionRow>(
        counted ? authenticateCounted : authenticate,
        [access.instant(), tokenHash, now],
      );
      if (row === undefined) return null;
      const { now: instant, used, ...session } = row;
      const call = { now: instant, used };
      noteWindow(call);
      const count = counted ? toCounted('account', call) : toPeeked('account', call);
      return { session: toSession(session), count };
    },
  };
}
