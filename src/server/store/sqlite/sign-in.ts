// Counts and keeps challenges, and authenticates sessions.

import type { Clock } from '../../../base/clock.ts';
import type { SignInStore } from '../../ports/sign-in.ts';
import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { challengeCounter } from '../rate-limits.ts';
import { SESSION_COLUMNS, type SessionRow, saveChallenge, toSession } from '../sign-in.ts';
import type { RateCounters } from './engine/rate-counters.ts';

interface ChallengeOptions {
  counters: RateCounters;
  clock: Clock;
  maxChallenges: number;
}

export function challengeStore(
  { get, write }: Db,
  { counters, clock, maxChallenges }: ChallengeOptions,
): Pick<SignInStore, 'countChallenge' | 'saveChallenge' | 'authenticateSession'> {
  return {
    countChallenge: async (wallet, device) => ({
      count: counters.count('challenge', challengeCounter(wallet, device)),
      now: clock.now(),
    }),

    saveChallenge: (challenge, source) =>
      write(async (tx) => {
        await saveChallenge(tx, challenge, source);
        const { total } = await tx.one<{ total: number }>(sql`SELECT total FROM challenge_count`);
        const excess = total - maxChallenges;
        if (excess <= 0) return;
        await tx.run(sql`DELETE FROM challenges
          WHERE seq IN (SELECT seq FROM challenges ORDER BY seq LIMIT ${excess})`);
      }),

    async authenticateSession(tokenHash, counted, now) {
      const row = await get<SessionRow>(sql`SELECT ${SESSION_COLUMNS} FROM sessions
        WHERE token_hash = ${tokenHash} AND expires_at > ${now}`);
      if (row === null) return null;
      const count = counted
        ? counters.count('account', row.wallet)
        : counters.peek('account', row.wallet);
      return { session: toSession(row), count };
    },
  };
}
