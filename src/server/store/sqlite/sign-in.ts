// Stores sign-in: challenges, new accounts and their sessions, and the rate limits of both.

import type { SignInStore } from '../../ports/sign-in.ts';
import { type ChallengeRow, type SessionRow, toChallenge, toSession } from '../rows/sign-in.ts';
import type { Ledger } from './account.ts';
import type { Access } from './engine/connections.ts';
import type { RateCounters } from './engine/rate-counters.ts';
import { sessionOpener } from './sessions.ts';

/** Expired rows deleted per write: more than a write adds, and few enough to be quick. */
const PURGED_PER_WRITE = 10;

export function signInStore(
  access: Access,
  {
    ledger,
    counters,
    maxChallenges,
  }: { ledger: Ledger; counters: RateCounters; maxChallenges: number },
): SignInStore {
  const { reader, writer, write, read } = access;
  const challenges = challengeStatements(access);
  const openSession = sessionOpener(writer);
  const purgeSessions = writer.prepare<[number, number]>(
    `DELETE FROM sessions WHERE id IN
       (SELECT id FROM sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
  );
  const endSession = writer.prepare<[string]>('DELETE FROM sessions WHERE token_hash = ?');
  const findSession = reader.prepare<[string, number], SessionRow>(
    `SELECT id, wallet, created_at, expires_at FROM sessions
     WHERE token_hash = ? AND expires_at > ?`,
  );

  return {
    countChallenge: async (wallet) => counters.count('challenge', wallet),

    saveChallenge: (challenge) =>
      write(() => {
        challenges.purge.run(challenge.createdAt, PURGED_PER_WRITE);
        challenges.insert.run({ ...challenge });
        const excess = (challenges.count.get()?.total ?? 0) - maxChallenges;
        if (excess > 0) challenges.evict.run(excess);
      }),

    openChallenges: (by, now) =>
      read(() => {
        const rows =
          'nonce' in by
            ? challenges.byNonce.all(by.nonce, by.wallet, now)
            : challenges.byWallet.all(by.wallet, now, by.limit);
        return rows.map(toChallenge);
      }),

    signIn: ({ nonce, wallet, session, signup, now }) =>
      write(() => {
        if (challenges.open.get(nonce, wallet, now) === undefined) return 'challenge_spent';
        if (ledger.balanceOf(wallet) === null) {
          if (signup === null) return 'signup_refused';
          openAccount(ledger, wallet, signup, now);
        }
        challenges.spend.run(nonce);
        purgeSessions.run(now, PURGED_PER_WRITE);
        openSession(session, wallet, 'wallet');
        return 'signed_in';
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

    revokeSession: (tokenHash) =>
      write(() => {
        endSession.run(tokenHash);
      }),
  };
}

function challengeStatements({ reader, writer }: Access) {
  const columns = 'nonce, wallet, message, created_at, expires_at';
  return {
    insert: writer.prepare<[Record<string, string | number>]>(
      `INSERT INTO challenges (${columns})
       VALUES (:nonce, :wallet, :message, :createdAt, :expiresAt)`,
    ),
    purge: writer.prepare<[number, number]>(
      `DELETE FROM challenges WHERE seq IN
         (SELECT seq FROM challenges WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
    ),
    count: writer.prepare<[], { total: number }>('SELECT total FROM challenge_count'),
    evict: writer.prepare<[number]>(
      'DELETE FROM challenges WHERE seq IN (SELECT seq FROM challenges ORDER BY seq LIMIT ?)',
    ),
    open: writer.prepare<[string, string, number]>(
      'SELECT 1 FROM challenges WHERE nonce = ? AND wallet = ? AND expires_at > ?',
    ),
    spend: writer.prepare<[string]>('DELETE FROM challenges WHERE nonce = ?'),
    byNonce: reader.prepare<[string, string, number], ChallengeRow>(
      `SELECT ${columns} FROM challenges WHERE nonce = ? AND wallet = ? AND expires_at > ?`,
    ),
    byWallet: reader.prepare<[string, number, number], ChallengeRow>(
      `SELECT ${columns} FROM challenges WHERE wallet = ? AND expires_at > ?
       ORDER BY seq DESC LIMIT ?`,
    ),
  };
}

function openAccount(
  ledger: Ledger,
  wallet: string,
  signup: { anchors: number; gasWei: bigint },
  now: number,
): void {
  ledger.openAccount(wallet, now);
  if (signup.anchors === 0 && signup.gasWei === 0n) return;
  ledger.post({
    kind: 'grant',
    wallet,
    anchors: signup.anchors,
    gasWei: signup.gasWei,
    // One grant per wallet, even if its account is deleted and opened again.
    grantId: `signup:${wallet}`,
    note: 'signup',
    at: now,
  });
}
