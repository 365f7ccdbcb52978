// Stores sign-in: challenges, new accounts and their sessions, and the rate limits of both.

import type { Database } from 'better-sqlite3';
import type { SignInStore, SignupGrant } from '../../ports/sign-in.ts';
import { isSignupGrantDue } from '../../rules/credits.ts';
import {
  type ChallengeRow,
  challengeCounter,
  DAY_MS,
  keptChallenges,
  SESSION_COLUMNS,
  type SessionRow,
  signupEntry,
  toChallenge,
  toSession,
} from '../rows/sign-in.ts';
import type { Ledger } from './account.ts';
import { auditRecorder } from './audit-log.ts';
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
  const { reader, writer, clock, write, read } = access;
  const challenges = challengeStatements(access);
  const openSession = sessionOpener(writer);
  const grantDue = signupGrants(writer, ledger);
  const key = reader.prepare<[], { key: Buffer }>('SELECT key FROM challenge_key WHERE id = 1');
  const purgeSessions = writer.prepare<[number, number]>(
    `DELETE FROM sessions WHERE id IN
       (SELECT id FROM sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
  );
  const findAccount = writer.prepare<[string], { suspended_at: number | null }>(
    'SELECT suspended_at FROM accounts WHERE wallet = ?',
  );
  const record = auditRecorder(writer);
  const endSession = writer.prepare<[string], { id: string; wallet: string }>(
    'DELETE FROM sessions WHERE token_hash = ? RETURNING id, wallet',
  );
  const findSession = reader.prepare<[string, number], SessionRow>(
    `SELECT ${SESSION_COLUMNS} FROM sessions
     WHERE token_hash = ? AND expires_at > ?`,
  );

  return {
    challengeKey: () =>
      read(() => {
        const row = key.get();
        if (row === undefined) throw new Error('The database has no challenge key');
        return row.key;
      }),

    countChallenge: async (wallet, device) => ({
      count: counters.count('challenge', challengeCounter(wallet, device)),
      now: clock.now(),
    }),

    saveChallenge: (challenge, source) =>
      write(() => {
        const { wallet } = challenge;
        challenges.purge.run(clock.now(), PURGED_PER_WRITE);
        challenges.insert.run({ ...challenge, source });
        challenges.trimWallet.run(wallet, source, keptChallenges.ofWallet);
        challenges.trimSource.run(source, keptChallenges.ofSource);
        const excess = (challenges.count.get()?.total ?? 0) - maxChallenges;
        if (excess > 0) challenges.evict.run(excess);
      }),

    isChallengeOpen: ({ nonce, expiresAt }) =>
      read(() => expiresAt > clock.now() && challenges.findSpent.get(nonce) === undefined),

    openChallenges: (wallet, source) =>
      read(() => challenges.open.all(wallet, source, clock.now()).map(toChallenge)),

    signIn: ({ challenge, session, mayOpen, grant, now, by }) =>
      write(() => {
        const { nonce, wallet, expiresAt } = challenge;
        const account = findAccount.get(wallet);
        if (expiresAt <= now || challenges.isSpent.get(nonce)) return 'challenge_spent';
        if (account === undefined && !mayOpen) return 'signup_refused';
        if (account && account.suspended_at !== null) return 'account_suspended';
        challenges.purgeSpent.run(now, PURGED_PER_WRITE);
        challenges.spend.run(nonce, expiresAt);
        challenges.forget.run(nonce);
        ledger.openAccount(wallet, now);
        if (grant !== null) grantDue(wallet, grant, now);
        purgeSessions.run(now, PURGED_PER_WRITE);
        openSession(session, wallet, 'wallet', by);
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

    revokeSession: (tokenHash, by) =>
      write(() => {
        const ended = endSession.get(tokenHash);
        if (ended !== undefined) record(ended.wallet, 'sign_out', by, { target_id: ended.id });
      }),
  };
}

function challengeStatements({ reader, writer }: Access) {
  const oldest = (where: string) => `DELETE FROM challenges WHERE seq IN
    (SELECT seq FROM challenges WHERE ${where} ORDER BY seq DESC LIMIT ${PURGED_PER_WRITE} OFFSET ?)`;
  return {
    insert: writer.prepare<[Record<string, string | number>]>(
      `INSERT INTO challenges (nonce, wallet, source, message, expires_at)
       VALUES (:nonce, :wallet, :source, :message, :expiresAt)`,
    ),
    trimWallet: writer.prepare<[string, string, number]>(oldest('wallet = ? AND source = ?')),
    trimSource: writer.prepare<[string, number]>(oldest('source = ?')),
    purge: writer.prepare<[number, number]>(
      `DELETE FROM challenges WHERE seq IN
         (SELECT seq FROM challenges WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
    ),
    count: writer.prepare<[], { total: number }>('SELECT total FROM challenge_count'),
    evict: writer.prepare<[number]>(
      'DELETE FROM challenges WHERE seq IN (SELECT seq FROM challenges ORDER BY seq LIMIT ?)',
    ),
    open: reader.prepare<[string, string, number], ChallengeRow>(
      `SELECT nonce, wallet, message, expires_at FROM challenges
       WHERE wallet = ? AND source = ? AND expires_at > ? ORDER BY seq DESC`,
    ),
    isSpent: writer.prepare<[string]>('SELECT 1 FROM spent_challenges WHERE nonce = ?'),
    findSpent: reader.prepare<[string]>('SELECT 1 FROM spent_challenges WHERE nonce = ?'),
    spend: writer.prepare<[string, number]>('INSERT INTO spent_challenges VALUES (?, ?)'),
    forget: writer.prepare<[string]>('DELETE FROM challenges WHERE nonce = ?'),
    purgeSpent: writer.prepare<[number, number]>(
      `DELETE FROM spent_challenges WHERE nonce IN
         (SELECT nonce FROM spent_challenges WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
    ),
  };
}

/** Notes that the wallet qualifies, and makes its sign-up grant if that is due. Call it inside a write. */
function signupGrants(
  writer: Database,
  ledger: Ledger,
): (wallet: string, grant: SignupGrant, now: number) => void {
  const qualify = writer.prepare<[number, string], { qualified_at: number }>(
    `UPDATE accounts SET qualified_at = coalesce(qualified_at, ?) WHERE wallet = ?
     RETURNING qualified_at`,
  );
  const find = writer.prepare<[string]>(
    "SELECT 1 FROM ledger WHERE grant_id = ? AND kind = 'grant'",
  );
  const grantedSince = writer.prepare<[number], { anchors: number }>(
    "SELECT coalesce(sum(anchors), 0) AS anchors FROM ledger WHERE note = 'signup' AND at > ?",
  );
  return (wallet, grant, now) => {
    const entry = signupEntry(wallet, grant, now);
    if (find.get(entry.grantId)) return;
    const qualifiedAt = qualify.get(now, wallet)?.qualified_at ?? now;
    const grantedToday = grantedSince.get(now - DAY_MS)?.anchors ?? 0;
    if (isSignupGrantDue(grant, { qualifiedAt, grantedToday, now })) ledger.post(entry);
  };
}
