// Counts and keeps challenges, and authenticates sessions.

import type { SignInStore } from '../../ports/sign-in.ts';
import { challengeCounter, SESSION_COLUMNS, type SessionRow, toSession } from '../rows/account.ts';
import { saveChallenge } from '../sign-in.ts';
import type { Access } from './engine/connections.ts';
import type { RateCounters } from './engine/rate-counters.ts';
import { runOn } from './engine/run-steps.ts';

export function challengeStore(
  { reader, writer, clock, write, read }: Access,
  { counters, maxChallenges }: { counters: RateCounters; maxChallenges: number },
): Pick<SignInStore, 'countChallenge' | 'saveChallenge' | 'authenticateSession'> {
  const run = runOn(writer);
  const total = writer.prepare<[], { total: number }>('SELECT total FROM challenge_count');
  const evict = writer.prepare<[number]>(
    'DELETE FROM challenges WHERE seq IN (SELECT seq FROM challenges ORDER BY seq LIMIT ?)',
  );
  const findSession = reader.prepare<[string, number], SessionRow>(
    `SELECT ${SESSION_COLUMNS} FROM sessions
     WHERE token_hash = ? AND expires_at > ?`,
  );

  return {
    countChallenge: async (wallet, device) => ({
      count: counters.count('challenge', challengeCounter(wallet, device)),
      now: clock.now(),
    }),

    saveChallenge: (challenge, source) =>
      write(() => {
        run(saveChallenge(challenge, source, clock.now()));
        const excess = (total.get()?.total ?? 0) - maxChallenges;
        if (excess > 0) evict.run(excess);
      }),

    authenticateSession: (tokenHash, counted, now) =>
      read(() => {
        const row = findSession.get(tokenHash, now);
        if (row === undefined) return null;
        const count = counted
          ? counters.count('account', row.wallet)
          : counters.peek('account', row.wallet);
        return { session: toSession(row), count };
      }),
  };
}
