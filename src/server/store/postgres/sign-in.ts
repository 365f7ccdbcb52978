// Stores sign-in: challenges, new accounts and their sessions, and the rate limits of both.

import type { SignInStore } from '../../ports/sign-in.ts';
import { type ChallengeRow, type SessionRow, toChallenge, toSession } from '../rows/sign-in.ts';
import { lockAccount, openAccount, postEntries } from './account.ts';
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

const CHALLENGE_COLUMNS = 'nonce, wallet, message, created_at, expires_at';
const SESSION = 'SELECT id, wallet, created_at, expires_at FROM sessions';

const countChallenge = sql(`WITH ${counting('challenge', 'SELECT $2::text AS key')}
  SELECT call.now, counted.used FROM call LEFT JOIN counted ON true`);
// Idempotent, because a lost connection repeats it.
const saveChallenge = sql(`WITH purged AS (
    DELETE FROM challenges WHERE seq IN (
      SELECT seq FROM challenges WHERE expires_at <= $4 ORDER BY expires_at
      LIMIT ${PURGED_PER_WRITE} FOR UPDATE SKIP LOCKED)
  )
  INSERT INTO challenges (nonce, wallet, message, created_at, expires_at)
  VALUES ($1, $2, $3, $4, $5) ON CONFLICT (nonce) DO NOTHING`);
const evict = sql(`DELETE FROM challenges WHERE seq IN (
  SELECT seq FROM challenges
  WHERE seq <= (SELECT seq FROM challenges ORDER BY seq DESC OFFSET $1 LIMIT 1)
  ORDER BY seq LIMIT ${EVICTED_PER_WRITE} FOR UPDATE SKIP LOCKED)`);
const byNonce = sql(`SELECT ${CHALLENGE_COLUMNS} FROM challenges
  WHERE nonce = $1 AND wallet = $2 AND expires_at > $3`);
const byWallet = sql(`SELECT ${CHALLENGE_COLUMNS} FROM challenges
  WHERE wallet = $1 AND expires_at > $2 ORDER BY seq DESC LIMIT $3`);
const takeChallenge = sql(`SELECT EXISTS (SELECT FROM accounts WHERE wallet = $2) AS known
  FROM challenges WHERE nonce = $1 AND wallet = $2 AND expires_at > $3 FOR UPDATE`);
const spend = sql(`WITH purged AS (
    DELETE FROM sessions WHERE id IN (
      SELECT id FROM sessions WHERE expires_at <= $2 ORDER BY expires_at
      LIMIT ${PURGED_PER_WRITE} FOR UPDATE SKIP LOCKED)
  )
  DELETE FROM challenges WHERE nonce = $1`);

const findSession = `session AS (${SESSION} WHERE token_hash = $2 AND expires_at > $3)`;
const answer = `SELECT session.*, call.now, counted.used
  FROM session CROSS JOIN call LEFT JOIN counted ON true`;
const authenticateCounted = sql(`WITH ${findSession},
  ${counting('account', 'SELECT wallet AS key FROM session')} ${answer}`);
const authenticate = sql(`WITH ${findSession},
  ${peeking('account', 'SELECT wallet AS key FROM session')} ${answer}`);
const endSession = sql('DELETE FROM sessions WHERE token_hash = $1');

export function signInStore(
  access: Access,
  { maxChallenges }: { maxChallenges: number },
): SignInStore {
  const noteWindow = oldWindows(access);
  const uncounted = Math.ceil(maxChallenges * UNCOUNTED);
  let saved = 0;

  return {
    async countChallenge(wallet) {
      const row = await access.first<CountedRow>(countChallenge, [access.instant(), wallet]);
      if (row === undefined) throw new Error('The challenge was not counted');
      noteWindow(row);
      return toCounted('challenge', row);
    },

    async saveChallenge({ nonce, wallet, message, createdAt, expiresAt }) {
      await access.run(saveChallenge, [nonce, wallet, message, createdAt, expiresAt]);
      saved += 1;
      if (saved % uncounted === 0) await access.run(evict, [maxChallenges]);
    },

    async openChallenges(by, now) {
      const rows =
        'nonce' in by
          ? await access.rows<ChallengeRow>(byNonce, [by.nonce, by.wallet, now])
          : await access.rows<ChallengeRow>(byWallet, [by.wallet, now, by.limit]);
      return rows.map(toChallenge);
    },

    signIn: ({ nonce, wallet, session, signup, now }) =>
      access.write(async (tx) => {
        const taken = await tx.first<{ known: boolean }>(takeChallenge, [nonce, wallet, now]);
        if (taken === undefined) return 'challenge_spent';
        if (!taken.known && signup === null) return 'signup_refused';
        if (signup !== null) await openGranted(tx, wallet, signup, now);
        await lockAccount(tx, wallet);
        await tx.run(spend, [nonce, now]);
        await openSession(tx, session, wallet, 'wallet');
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

    async revokeSession(tokenHash) {
      await access.run(endSession, [tokenHash]);
    },
  };
}

/** Opens the account with its sign-up credits. Does nothing if the account exists. */
async function openGranted(
  tx: Queries,
  wallet: string,
  { anchors, gasWei }: { anchors: number; gasWei: bigint },
  now: number,
): Promise<void> {
  const isNew = await openAccount(tx, wallet, now);
  if (!isNew || (anchors === 0 && gasWei === 0n)) return;
  // One grant per wallet, even if its account is deleted and opened again.
  const grantId = `signup:${wallet}`;
  await postEntries(tx, [
    { kind: 'grant', wallet, anchors, gasWei, grantId, note: 'signup', at: now },
  ]);
}
