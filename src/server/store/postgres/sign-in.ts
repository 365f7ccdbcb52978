// Stores sign-in: challenges, new accounts and their sessions, and the rate limits of both.

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
import { lockAccount, openAccount, postEntries } from './account.ts';
import { recordAudit } from './audit-log.ts';
import type { Queries } from './engine/connections.ts';
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
import { openSession } from './sessions.ts';

/** Expired rows deleted per write: more than a write adds, and few enough to be quick. */
const PURGED_PER_WRITE = 10;
/** Challenges beyond the limit that one write deletes at most. */
const EVICTED_PER_WRITE = 1_000;
/** The open challenges are counted once per this share of the limit that this instance saves. */
const UNCOUNTED = 0.001;

const challengeKey = sql('SELECT key FROM challenge_key WHERE id = 1');
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
const openChallenges = sql(`SELECT nonce, wallet, message, expires_at FROM challenges
  WHERE wallet = $1 AND source = $2 AND expires_at > instant_or($3) ORDER BY seq DESC`);
const isOpen = sql(`SELECT WHERE $2::bigint > instant_or($3)
  AND NOT EXISTS (SELECT FROM spent_challenges WHERE nonce = $1)`);
const spend = sql(`WITH call AS MATERIALIZED (SELECT instant_or($3) AS now), purged AS (
    DELETE FROM spent_challenges WHERE nonce IN (
      SELECT nonce FROM spent_challenges WHERE expires_at <= (SELECT now FROM call)
      ORDER BY expires_at
      LIMIT ${PURGED_PER_WRITE} FOR UPDATE SKIP LOCKED)
  ), forgotten AS (DELETE FROM challenges WHERE nonce = $1)
  INSERT INTO spent_challenges (nonce, expires_at)
  SELECT $1, $2::bigint FROM call WHERE $2::bigint > now ON CONFLICT (nonce) DO NOTHING`);
const findAccount = sql('SELECT suspended_at FROM accounts WHERE wallet = $1');
const purgeSessions = sql(`DELETE FROM sessions WHERE id IN (
  SELECT id FROM sessions WHERE expires_at <= $1 ORDER BY expires_at
  LIMIT ${PURGED_PER_WRITE} FOR UPDATE SKIP LOCKED)`);
const qualify = sql(`UPDATE accounts SET qualified_at = coalesce(qualified_at, $2)
  WHERE wallet = $1 AND NOT EXISTS (SELECT FROM ledger WHERE grant_id = $3 AND kind = 'grant')
  RETURNING qualified_at`);
// Of two sign-ins the second sees what the first granted.
const lockGrants = sql("SELECT pg_advisory_xact_lock(hashtext('signup grants'))");
const grantedSince = sql(`SELECT coalesce(sum(anchors), 0)::bigint AS anchors
  FROM ledger WHERE note = 'signup' AND at > $1`);

const findSession = `session AS (SELECT ${SESSION_COLUMNS} FROM sessions
  WHERE token_hash = $2 AND expires_at > $3)`;
const answer = `SELECT session.*, call.now, counted.used
  FROM session CROSS JOIN call LEFT JOIN counted ON true`;
const authenticateCounted = sql(`WITH ${findSession},
  ${counting('account', 'SELECT wallet AS key FROM session')} ${answer}`);
const authenticate = sql(`WITH ${findSession},
  ${peeking('account', 'SELECT wallet AS key FROM session')} ${answer}`);
const endSession = sql('DELETE FROM sessions WHERE token_hash = $1 RETURNING id, wallet');

export function signInStore(
  access: Access,
  { maxChallenges }: { maxChallenges: number },
): SignInStore {
  const noteWindow = oldWindows(access);
  const uncounted = Math.ceil(maxChallenges * UNCOUNTED);
  let saved = 0;

  return {
    async challengeKey() {
      const row = await access.first<{ key: Buffer }>(challengeKey, []);
      if (row === undefined) throw new Error('The database has no challenge key');
      return row.key;
    },

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

    async isChallengeOpen({ nonce, expiresAt }) {
      const values = [nonce, expiresAt, access.instant()];
      return (await access.first(isOpen, values)) !== undefined;
    },

    async openChallenges(wallet, source) {
      const values = [wallet, source, access.instant()];
      return (await access.rows<ChallengeRow>(openChallenges, values)).map(toChallenge);
    },

    signIn: ({ challenge, session, mayOpen, grant, now, by }) =>
      access.write(async (tx) => {
        const { nonce, wallet, expiresAt } = challenge;
        const account = await tx.first<Pick<SessionRow, 'suspended_at'>>(findAccount, [wallet]);
        if (account === undefined && !mayOpen) return 'signup_refused';
        if (account && account.suspended_at !== null) return 'account_suspended';
        const spent = await tx.run(spend, [nonce, expiresAt, access.instant()]);
        if (spent === 0) return 'challenge_spent';
        await openAccount(tx, wallet, now);
        await lockAccount(tx, wallet);
        if (grant !== null) await grantWhenDue(tx, wallet, grant, now);
        await tx.run(purgeSessions, [now]);
        await openSession(tx, session, wallet, 'wallet', by);
        return 'signed_in';
      }),

    async authenticateSession(tokenHash, counted, now) {
      const row = await access.first<CountedRow & SessionRow>(
        counted ? authenticateCounted : authenticate,
        [access.instant(), tokenHash, now],
      );
      if (row === undefined) return null;
      noteWindow(row);
      return {
        session: toSession(row),
        count: counted ? toCounted('account', row) : toPeeked('account', row),
      };
    },

    revokeSession: (tokenHash, by) =>
      access.write(async (tx) => {
        const ended = await tx.first<{ id: string; wallet: string }>(endSession, [tokenHash]);
        if (ended) await recordAudit(tx, ended.wallet, 'sign_out', by, { target_id: ended.id });
      }),
  };
}

/** Notes that the wallet qualifies, and makes its sign-up grant if that is due. Call it inside a write. */
async function grantWhenDue(
  tx: Queries,
  wallet: string,
  grant: SignupGrant,
  now: number,
): Promise<void> {
  const entry = signupEntry(wallet, grant, now);
  const values = [wallet, now, `signup:${wallet}`];
  const qualified = await tx.first<{ qualified_at: number }>(qualify, values);
  if (qualified === undefined) return;
  if (grant.anchorsPerDay !== null) await tx.run(lockGrants);
  const row = await tx.first<{ anchors: number }>(grantedSince, [now - DAY_MS]);
  const state = { qualifiedAt: qualified.qualified_at, grantedToday: row?.anchors ?? 0, now };
  if (isSignupGrantDue(grant, state)) await postEntries(tx, [entry]);
}
