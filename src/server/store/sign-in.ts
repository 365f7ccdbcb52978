// Stores sign-in: open challenges, new accounts and their sessions.

import type { Challenge, SignInStore, SignupGrant } from '../ports/sign-in.ts';
import { isSignupGrantDue } from '../rules/credits.ts';
import { recordAudit } from './audit-log.ts';
import { first, mutex, rows, type StepRunner, type Steps, selected, some } from './engine/steps.ts';
import { ledgerSql, openAccount, postEntries } from './ledger.ts';
import { grantEntry } from './rows/account.ts';
import { DAY_MS, keptChallenges } from './rows/sign-in.ts';
import { openSession } from './sessions.ts';

/** Expired rows deleted per write: more than a write adds, and few enough to be quick. */
const PURGED_PER_WRITE = 10;

/** Deletes challenges beyond the newest `kept`. PostgreSQL does not lock the rows that OFFSET skips. */
const beyond = (where: string, kept: number) =>
  `DELETE FROM challenges WHERE seq ${selected(
    `SELECT seq FROM challenges WHERE seq IN (SELECT seq FROM challenges WHERE ${where}
    ORDER BY seq DESC LIMIT ${PURGED_PER_WRITE} OFFSET ${kept}) FOR UPDATE SKIP LOCKED`,
  )}`;

export const signInSql = {
  save: `INSERT INTO challenges (nonce, wallet, source, message, expires_at)
    VALUES ($1, $2, $3, $4, $5) ON CONFLICT (nonce) DO NOTHING`,
  purge: `DELETE FROM challenges WHERE seq ${selected(`SELECT seq FROM challenges
    WHERE expires_at <= (SELECT instant_or($1)) ORDER BY expires_at LIMIT ${PURGED_PER_WRITE}
    FOR UPDATE SKIP LOCKED`)}`,
  trimWallet: beyond('wallet = $1 AND source = $2', keptChallenges.ofWallet),
  trimSource: beyond('source = $1', keptChallenges.ofSource),
  key: 'SELECT key FROM challenge_key WHERE id = 1',
  open: `SELECT nonce, wallet, message, expires_at AS "expiresAt" FROM challenges
    WHERE wallet = $1 AND source = $2 AND expires_at > $3 ORDER BY seq DESC`,
  isSpent: 'SELECT nonce FROM spent_challenges WHERE nonce = $1',
  spend: `INSERT INTO spent_challenges (nonce, expires_at) VALUES ($1, $2)
    ON CONFLICT (nonce) DO NOTHING RETURNING nonce`,
  forget: 'DELETE FROM challenges WHERE nonce = $1',
  purgeSpent: `DELETE FROM spent_challenges WHERE nonce IN (SELECT nonce FROM spent_challenges
    WHERE expires_at <= $1 ORDER BY expires_at LIMIT ${PURGED_PER_WRITE} FOR UPDATE SKIP LOCKED)`,
  account:
    'SELECT coalesce(suspended_at, deleting_at) AS suspended_at FROM accounts WHERE wallet = $1',
  purgeSessions: `DELETE FROM sessions WHERE id IN (SELECT id FROM sessions
    WHERE expires_at <= $1 ORDER BY expires_at LIMIT ${PURGED_PER_WRITE} FOR UPDATE SKIP LOCKED)`,
  endSession: 'DELETE FROM sessions WHERE token_hash = $1 RETURNING id, wallet',
  qualify: `UPDATE accounts SET qualified_at = coalesce(qualified_at, $2)
    WHERE wallet = $1 RETURNING qualified_at`,
  grantedSince: `SELECT CAST(coalesce(sum(anchors), 0) AS bigint) AS anchors
    FROM ledger WHERE note = 'signup' AND at > $1`,
} as const;

export function signInStore({ read, write, clock }: StepRunner) {
  return {
    async challengeKey() {
      const row = await read(() => first<{ key: Buffer }>(signInSql.key));
      if (row === undefined) throw new Error('The database has no challenge key');
      return row.key;
    },

    isChallengeOpen: ({ nonce, expiresAt }) =>
      read(function* () {
        return expiresAt > (yield* clock()) && !(yield* some(signInSql.isSpent, nonce));
      }),

    spendChallenge: ({ nonce, expiresAt }) =>
      write(function* () {
        yield* rows(signInSql.forget, nonce);
        return expiresAt > (yield* clock()) && (yield* some(signInSql.spend, nonce, expiresAt));
      }),

    openChallenges: (wallet, source) =>
      read(function* () {
        const values = [wallet, source, yield* clock()];
        return yield* rows<Challenge>(signInSql.open, ...values);
      }),

    signIn: ({ challenge, session, mayOpen, grant, now, by }) =>
      write(function* () {
        const { nonce, wallet, expiresAt } = challenge;
        const instant = yield* clock();
        if (expiresAt <= instant) return 'challenge_spent';
        type Account = { suspended_at: number | null };
        const account = yield* first<Account>(signInSql.account, wallet);
        if (account === undefined && !mayOpen) return 'signup_refused';
        if (account && account.suspended_at !== null) return 'account_suspended';
        if (!(yield* some(signInSql.spend, nonce, expiresAt))) return 'challenge_spent';
        yield* rows(signInSql.forget, nonce);
        yield* rows(signInSql.purgeSpent, instant);
        yield* openAccount(wallet, now);
        if (grant !== null) yield* grantWhenDue(wallet, grant, now);
        yield* rows(signInSql.purgeSessions, now);
        yield* openSession(session, wallet, 'wallet', by);
        return 'signed_in';
      }),

    revokeSession: (tokenHash, by) =>
      write(function* () {
        type Ended = { id: string; wallet: string };
        const ended = yield* first<Ended>(signInSql.endSession, tokenHash);
        if (ended) yield* recordAudit(ended.wallet, 'sign_out', by, { target_id: ended.id });
      }),
  } satisfies Partial<SignInStore>;
}

/** Saves a challenge, and deletes expired ones and those beyond the limits of wallet and source. */
export function* saveChallenge(
  { nonce, wallet, message, expiresAt }: Challenge,
  source: string,
  instant: number | null,
): Steps<void> {
  yield* rows(signInSql.purge, instant);
  yield* rows(signInSql.save, nonce, wallet, source, message, expiresAt);
  yield* rows(signInSql.trimWallet, wallet, source);
  yield* rows(signInSql.trimSource, source);
}

/** Notes that the wallet qualifies, and makes its sign-up grant if that is due. Call it inside a write. */
function* grantWhenDue(wallet: string, grant: SignupGrant, now: number): Steps<void> {
  // The id is that of the wallet, so that it is granted once.
  const entry = grantEntry({ ...grant, id: `signup:${wallet}`, wallet, note: 'signup', now });
  if (yield* some(ledgerSql.grant, entry.grantId)) return;
  const account = yield* first<{ qualified_at: number }>(signInSql.qualify, wallet, now);
  // Of two sign-ins the second sees what the first granted.
  if (grant.anchorsPerDay !== null) yield* mutex('signup grants');
  const granted = yield* first<{ anchors: number }>(signInSql.grantedSince, now - DAY_MS);
  const state = { qualifiedAt: account?.qualified_at ?? now, grantedToday: granted?.anchors ?? 0 };
  if (isSignupGrantDue(grant, { ...state, now })) yield* postEntries([entry]);
}
