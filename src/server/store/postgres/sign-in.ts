// Counts and keeps challenges, and authenticates sessions.

import type { SignInStore } from '../../ports/sign-in.ts';
import { raw, sql } from '../db/sql.ts';
import { challengeCounter } from '../rate-limits.ts';
import { SESSION_COLUMNS, type SessionRow, saveChallenge, toSession } from '../sign-in.ts';
import type { PostgresDb } from './engine/database.ts';
import {
  type CountedRow,
  counting,
  oldWindows,
  peeking,
  toCounted,
  toPeeked,
} from './engine/rate-counters.ts';

/** Challenges beyond the limit that one write deletes at most. */
const EVICTED_PER_WRITE = raw('1000');
/** The open challenges are counted once per this share of the limit that this instance saves. */
const UNCOUNTED = 0.001;

export function challengeStore(db: PostgresDb, { maxChallenges }: { maxChallenges: number }) {
  const noteWindow = oldWindows(db);
  const uncounted = Math.ceil(maxChallenges * UNCOUNTED);
  let saved = 0;

  return {
    async countChallenge(wallet, device) {
      const subject = sql`SELECT ${challengeCounter(wallet, device)}::text AS key`;
      const row = await db.alone.one<CountedRow>(sql`WITH ${counting('challenge', subject)}
        SELECT call.now, counted.used FROM call LEFT JOIN counted ON true`);
      noteWindow(row);
      return { count: toCounted('challenge', row), now: row.now };
    },

    async saveChallenge(challenge, source) {
      await db.write((tx) => saveChallenge(tx, challenge, source));
      saved += 1;
      if (saved % uncounted !== 0) return;
      await db.alone.run(sql`DELETE FROM challenges WHERE seq IN (
        SELECT seq FROM challenges WHERE seq <=
          (SELECT seq FROM challenges ORDER BY seq DESC OFFSET ${maxChallenges} LIMIT 1)
        ORDER BY seq LIMIT ${EVICTED_PER_WRITE} FOR UPDATE SKIP LOCKED)`);
    },

    async authenticateSession(tokenHash, counted, now) {
      const count = counted ? counting : peeking;
      const row = await db.alone.get<
        CountedRow & SessionRow
      >(sql`WITH session AS (SELECT ${SESSION_COLUMNS}
          FROM sessions WHERE token_hash = ${tokenHash} AND expires_at > ${now}),
        ${count('account', sql`SELECT wallet AS key FROM session`)}
        SELECT session.*, call.now, counted.used
        FROM session CROSS JOIN call LEFT JOIN counted ON true`);
      if (row === null) return null;
      const { now: instant, used, ...session } = row;
      const call = { now: instant, used };
      noteWindow(call);
      return {
        session: toSession(session),
        count: counted ? toCounted('account', call) : toPeeked('account', call),
      };
    },
  } satisfies Partial<SignInStore>;
}
