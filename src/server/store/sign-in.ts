// Stores sign-in: open challenges, new accounts, sessions and codes of the command line.

import { limits } from '../../protocol/limits.ts';
import type { Actor } from '../ports/account.ts';
import type {
  Challenge,
  CliCode,
  NewSession,
  SessionStore,
  SignInMethod,
  SignInStore,
  SignupGrant,
} from '../ports/sign-in.ts';
import { isSignupGrantDue } from '../rules/credits.ts';
import { ledgerSql, openAccount, postEntries } from './account.ts';
import { recordAudit } from './audit-log.ts';
import {
  first,
  insert,
  LAST_ID,
  lock,
  mutex,
  rows,
  type StepRunner,
  type Steps,
  selected,
  some,
} from './engine/steps.ts';
import {
  DAY_MS,
  grantEntry,
  keptChallenges,
  SESSION_COLUMNS,
  type SessionRow,
  toSession,
} from './rows/account.ts';

/** Expired or surplus rows deleted per write: more than a write adds, and few enough to be quick. */
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
    FROM ledger WHERE note = 'signup' AND at > $1 AND anchors > 0`,
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

const IS_TOKEN = 'CASE WHEN scope IS NULL THEN 0 ELSE 1 END';

export const sessionSql = {
  page: `SELECT ${SESSION_COLUMNS} FROM sessions
    WHERE wallet = $1 AND id < $2 AND expires_at > $3 AND ${IS_TOKEN} = $4
    ORDER BY id DESC LIMIT $5`,
  end: `DELETE FROM sessions WHERE id = $1 AND wallet = $2 AND ${IS_TOKEN} = $3 RETURNING name`,
  countTokens: `SELECT count(*) AS tokens FROM sessions
    WHERE wallet = $1 AND scope IS NOT NULL AND expires_at > $2`,
  noteUse: `UPDATE sessions SET last_used_at = $2
    WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)`,
  beyond: `SELECT id FROM sessions WHERE wallet = $1 AND scope IS NULL
    LIMIT ${PURGED_PER_WRITE} OFFSET ${limits.sessionsPerAccount}`,
  endOldest: `DELETE FROM sessions WHERE id IN (SELECT id FROM sessions
    WHERE wallet = $1 AND scope IS NULL AND id <> $2 ORDER BY id LIMIT $3)`,
  purgeCodes: `DELETE FROM cli_codes WHERE device_hash IN (SELECT device_hash FROM cli_codes
    WHERE expires_at <= $1 ORDER BY expires_at LIMIT ${PURGED_PER_WRITE} FOR UPDATE SKIP LOCKED)`,
  isSourceFull: `SELECT device_hash FROM cli_codes WHERE source = $1 AND expires_at > $2
    LIMIT 1 OFFSET ${limits.openCliCodesOfSource - 1}`,
  isFull: `SELECT device_hash FROM cli_codes WHERE expires_at > $1
    LIMIT 1 OFFSET ${limits.openCliCodes - 1}`,
  evictCode: `DELETE FROM cli_codes WHERE device_hash = (SELECT device_hash FROM cli_codes
    WHERE source =
      (SELECT source FROM cli_codes GROUP BY source ORDER BY count(*) DESC, min(expires_at) LIMIT 1)
    ORDER BY expires_at LIMIT 1)`,
  saveCode: `INSERT INTO cli_codes (device_hash, user_hash, source, name, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING device_hash`,
  // The lock waits for a transaction that is ending the session, and counts concurrent guesses one after the other.
  live: `SELECT signed_in_with, wrong_codes FROM sessions
    WHERE id = $1 AND expires_at > $2 FOR UPDATE`,
  undecided: `SELECT device_hash, name, created_at AS "createdAt", expires_at AS "expiresAt" FROM cli_codes
    WHERE user_hash = $1 AND expires_at > $2 AND session_id IS NULL FOR UPDATE`,
  countWrong: 'UPDATE sessions SET wrong_codes = wrong_codes + 1 WHERE id = $1',
  allow: 'UPDATE cli_codes SET session_id = $2 WHERE device_hash = $1',
  removeCode: 'DELETE FROM cli_codes WHERE device_hash = $1 RETURNING device_hash',
  // The wallet is null if the code is pending, or if the session that allowed it has ended.
  code: `SELECT c.session_id, s.wallet FROM cli_codes c LEFT JOIN sessions s ON s.id = c.session_id
    WHERE c.device_hash = $1 AND c.expires_at > $2`,
  suspended: `SELECT wallet FROM accounts
    WHERE wallet = $1 AND coalesce(suspended_at, deleting_at) IS NOT NULL`,
} as const;

export function sessionStore(runner: StepRunner): SessionStore {
  const { read, write } = runner;
  return {
    listSessions: async (wallet, now, limit, before, tokens = false) => {
      const values = [wallet, before ?? LAST_ID, now, Number(tokens), limit];
      return (await read(() => rows<SessionRow>(sessionSql.page, ...values))).map(toSession);
    },

    endSession: (wallet, id, by, token = false) =>
      write(function* () {
        const values = [id, wallet, Number(token)];
        const ended = yield* first<{ name: string | null }>(sessionSql.end, ...values);
        if (ended === undefined) return false;
        const kind = token ? 'token_revoked' : 'session_revoked';
        yield* recordAudit(wallet, kind, by, { target_id: id, detail: ended.name });
        return true;
      }),

    createToken: ({ wallet, name, scope, issuer, ...session }, by) =>
      write(function* () {
        yield* lock(wallet);
        if (!(yield* some(sessionSql.live, issuer, session.createdAt))) return 'session_ended';
        const values = [wallet, session.createdAt];
        const live = yield* first<{ tokens: number }>(sessionSql.countTokens, ...values);
        if ((live?.tokens ?? 0) >= limits.tokensPerAccount) return 'token_limit_reached';
        yield* insert('sessions', [
          { ...newRow(session, wallet), signed_in_with: 'token', name, scope },
        ]);
        yield* recordAudit(wallet, 'token_created', by, { target_id: session.id, detail: name });
        return 'created';
      }),

    noteTokenUse: async (id, now) => {
      await write(() => rows(sessionSql.noteUse, id, now, now - limits.windowMs));
    },

    ...cliCodes(runner),
  };
}

function cliCodes({ read, write }: StepRunner) {
  return {
    saveCliCode: ({ deviceHash, userHash, source, name, createdAt, expiresAt }) =>
      write(function* () {
        yield* rows(sessionSql.purgeCodes, createdAt);
        if (yield* some(sessionSql.isSourceFull, source, createdAt)) return false;
        if (yield* some(sessionSql.isFull, createdAt)) yield* rows(sessionSql.evictCode);
        const values = [deviceHash, userHash, source, name, createdAt, expiresAt];
        return yield* some(sessionSql.saveCode, ...values);
      }),

    decideCliCode: ({ userHash, decision, sessionId, now }) =>
      write(function* () {
        type Live = { signed_in_with: SignInMethod; wrong_codes: number };
        const session = yield* first<Live>(sessionSql.live, sessionId, now);
        if (session === undefined) return 'session_ended';
        if (session.signed_in_with !== 'wallet') return 'not_by_wallet';
        if (session.wrong_codes >= limits.wrongCliCodes) return 'too_many_wrong';
        const found = yield* first<CliCode & { device_hash: string }>(
          sessionSql.undecided,
          userHash,
          now,
        );
        if (found === undefined) {
          yield* rows(sessionSql.countWrong, sessionId);
          return 'unknown';
        }
        const { device_hash: hash, ...code } = found;
        if (decision === 'allow') yield* rows(sessionSql.allow, hash, sessionId);
        if (decision === 'refuse') yield* rows(sessionSql.removeCode, hash);
        return code;
      }),

    async redeemCliCode({ deviceHash, session, now, by }) {
      type Found = { session_id: string | null; wallet: string | null };
      // Anyone can invent codes and ask for them often, so only an allowed one gets a write.
      const found = await read(() => first<Found>(sessionSql.code, deviceHash, now));
      if (found === undefined) return 'unknown';
      const { session_id: issuer, wallet } = found;
      if (issuer === null) return 'pending';
      if (wallet === null) return 'unknown';
      return write(function* () {
        yield* lock(wallet);
        if (yield* some(sessionSql.suspended, wallet)) return 'account_suspended';
        if (!(yield* some(sessionSql.removeCode, deviceHash))) return 'unknown';
        if (!(yield* some(sessionSql.live, issuer, now))) return 'unknown';
        yield* openSession(session, wallet, 'cli_code', by);
        return { wallet };
      });
    },
  } satisfies Partial<SessionStore>;
}

/**
 * Opens a session and ends the account's oldest sessions beyond its limit. It never ends the new session, which looks
 * old if the clock went back. All sessions last equally long and ids are UUIDv7, so expired sessions are older than
 * live ones. Call it inside a write that has locked the account.
 */
export function* openSession(
  session: NewSession,
  wallet: string,
  signedInWith: SignInMethod,
  by?: Actor,
): Steps<void> {
  const opened = { ...newRow(session, wallet), signed_in_with: signedInWith };
  yield* insert('sessions', [{ ...opened, name: null, scope: null }]);
  yield* recordAudit(wallet, 'sign_in', by, { target_id: session.id, detail: signedInWith });
  const { length: excess } = yield* rows(sessionSql.beyond, wallet);
  if (excess > 0) yield* rows(sessionSql.endOldest, wallet, session.id, excess);
}

function newRow({ id, tokenHash, createdAt, expiresAt }: NewSession, wallet: string) {
  return { id, token_hash: tokenHash, wallet, created_at: createdAt, expires_at: expiresAt };
}
