// Counts and keeps challenges, and authenticates sessions.

import type { SignInStore } from '../../ports/sign-in.ts';
import {
  challengeCounter,
  keptChallenges,
  SESSION_COLUMNS,
  type SessionRow,
  toSession,
} from '../rows/sign-in.ts';
import type { Access } from './engine/connections.ts';
import type { RateCounters } from './engine/rate-counters.ts';

/** Expired rows deleted per write: more than a write adds, and few enough to be quick. */
const PURGED_PER_WRITE = 10;

export function challengeStore(
  { reader, writer, clock, write, read }: Access,
  { counters, maxChallenges }: { counters: RateCounters; maxChallenges: number },
): Pick<SignInStore, 'countChallenge' | 'saveChallenge' | 'authenticateSession'> {
  const oldest = (where: string) => `DELETE FROM challenges WHERE seq IN
    (SELECT seq FROM challenges WHERE ${where} ORDER BY seq DESC LIMIT ${PURGED_PER_WRITE} OFFSET ?)`;
  const insert = writer.prepare<[Record<string, string | number>]>(
    `INSERT INTO challenges (nonce, wallet, source, message, expires_at)
     VALUES (:nonce, :wallet, :source, :message, :expiresAt)`,
  );
  const trimWallet = writer.prepare<[string, string, number]>(oldest('wallet = ? AND source = ?'));
  const trimSource = writer.prepare<[string, number]>(oldest('source = ?'));
  const purge = writer.prepare<[number, number]>(
    `DELETE FROM challenges WHERE seq IN
       (SELECT seq FROM challenges WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
  );
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
        const { wallet } = challenge;
        purge.run(clock.now(), PURGED_PER_WRITE);
        insert.run({ ...challenge, source });
        trimWallet.run(wallet, source, keptChallenges.ofWallet);
        trimSource.run(source, keptChallenges.ofSource);
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
