// Counts and keeps challenges, and authenticates sessions.

import type { SignInStore } from '../../ports/sign-in.ts';
import { challengeCounter, SESSION_COLUMNS, type SessionRow, toSession } from '../rows/account.ts';
import { saveChallenge } from '../sign-in.ts';
import { sql } from './engine/connections.ts';
import {
  type CountedRow,
  counting,
  oldWindows,
  peeking,
  toCounted,
  toPeeked,
} from './engine/rate-counters.ts';
import { runSteps } from './engine/run-steps.ts';
import type { Access } from './engine/transactions.ts';

/** Challenges beyond the limit that one write deletes at most. */
const EVICTED_PER_WRITE = 1_000;
/** The open challenges are counted once per this share of the limit that this instance saves. */
const UNCOUNTED = 0.001;

const countChallenge = sql(`WITH ${counting('challenge', 'SELECT $2::text AS key')}
  SELECT call.now, counted.used FROM call LEFT JOIN counted ON true`);
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

export function challengeStore(access: Access, { maxChallenges }: { maxChallenges: number }) {
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

    async saveChallenge(challenge, source) {
      await access.write((tx) => runSteps(tx, saveChallenge(challenge, source, access.instant())));
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
  } satisfies Partial<SignInStore>;
}
