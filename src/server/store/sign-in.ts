// Stores sign-in: open challenges, new accounts, sessions and codes of the command line.

import { limits } from '../../protocol/limits.ts';
import type { Actor } from '../ports/account.ts';
import type {
  Challenge,
  CliCode,
  NewSession,
  SessionRecord,
  SessionStore,
  SignInMethod,
  SignInStore,
  SignupGrant,
} from '../ports/sign-in.ts';
import { isSignupGrantDue } from '../rules/credits.ts';
import { openAccount } from './account.ts';
import { recordAudit } from './audit-log.ts';
import { type Db, databaseTime, type Tx } from './db/database.ts';
import { forUpdate, lockAccount, lockName, onPostgres, selected } from './db/dialect.ts';
import { insertNew, LAST_ID } from './db/rows.ts';
import { NOW, raw, type Sql, sql } from './db/sql.ts';
import { findGrant, grantEntry, postEntries } from './ledger.ts';

/** Expired or surplus rows deleted per write: more than a write adds, and few enough to be quick. */
const PURGED_PER_WRITE = raw('10');

/** Concurrent writes delete different rows. */
const skipLocked = onPostgres(sql`FOR UPDATE SKIP LOCKED`);

/** Kept challenges: of one wallet for one source, and of one source for all wallets. */
const keptChallenges = { ofWallet: limits.challengesPerSource, ofSource: 1_000 };

/** The period of the daily limit of sign-up grants. */
const DAY_MS = 24 * 60 * 60_000;

export type SessionRow = Omit<SessionRecord, 'isSuspended'> & { suspendedAt: number | null };

export const SESSION_COLUMNS = raw(`id, wallet, signed_in_with AS "signedInWith",
  created_at AS "createdAt", expires_at AS "expiresAt", name, scope, last_used_at AS "lastUsedAt",
  (SELECT coalesce(suspended_at, deleting_at) FROM accounts WHERE accounts.wallet = sessions.wallet)
    AS "suspendedAt"`);

export function toSession({ suspendedAt, ...row }: SessionRow): SessionRecord {
  return { ...row, isSuspended: suspendedAt !== null };
}

export function signInStore({ all, one, read, write }: Db) {
  return {
    async challengeKey() {
      const { key } = await one<{ key: Buffer }>(sql`SELECT key FROM challenge_key WHERE id = 1`);
      return key;
    },

    isChallengeOpen: ({ nonce, expiresAt }) =>
      read(async (tx) => {
        if (expiresAt <= (await databaseTime(tx))) return false;
        const spent = sql`SELECT nonce FROM spent_challenges WHERE nonce = ${nonce}`;
        return (await tx.get(spent)) === null;
      }),

    spendChallenge: (challenge) =>
      write(async (tx) => {
        await forgetChallenge(tx, challenge.nonce);
        return challenge.expiresAt > (await databaseTime(tx)) && spend(tx, challenge);
      }),

    openChallenges: (wallet, source) =>
      all<Challenge>(sql`SELECT nonce, wallet, message, expires_at AS "expiresAt"
        FROM challenges
        WHERE wallet = ${wallet} AND source = ${source} AND expires_at > (SELECT ${NOW})
        ORDER BY seq DESC`),

    signIn: ({ challenge, session, mayOpen, grant, now, by }) =>
      write(async (tx) => {
        const { nonce, wallet, expiresAt } = challenge;
        const instant = await databaseTime(tx);
        if (expiresAt <= instant) return 'challenge_spent';
        const account = await tx.get<{ suspended_at: number | null }>(
          sql`SELECT coalesce(suspended_at, deleting_at) AS suspended_at FROM accounts
            WHERE wallet = ${wallet}`,
        );
        if (account === null && !mayOpen) return 'signup_refused';
        if (account && account.suspended_at !== null) return 'account_suspended';
        if (!(await spend(tx, challenge))) return 'challenge_spent';
        await forgetChallenge(tx, nonce);
        await tx.run(sql`DELETE FROM spent_challenges WHERE nonce IN (SELECT nonce
          FROM spent_challenges WHERE ${expired(instant)} ${skipLocked})`);
        await openAccount(tx, wallet, now);
        if (grant !== null) await grantWhenDue(tx, wallet, grant, now);
        await tx.run(sql`DELETE FROM sessions WHERE id IN (SELECT id
          FROM sessions WHERE ${expired(now)} ${skipLocked})`);
        await openSession(tx, session, wallet, 'wallet', by);
        return 'signed_in';
      }),

    revokeSession: (tokenHash, by) =>
      write(async (tx) => {
        const ended = await tx.get<{ id: string; wallet: string }>(
          sql`DELETE FROM sessions WHERE token_hash = ${tokenHash} RETURNING id, wallet`,
        );
        if (ended) await recordAudit(tx, ended.wallet, 'sign_out', by, { target_id: ended.id });
      }),
  } satisfies Partial<SignInStore>;
}

/** The condition of the rows to purge, oldest first. */
function expired(time: Sql | number): Sql {
  return sql`expires_at <= ${time} ORDER BY expires_at LIMIT ${PURGED_PER_WRITE}`;
}

async function forgetChallenge(tx: Tx, nonce: string): Promise<void> {
  await tx.run(sql`DELETE FROM challenges WHERE nonce = ${nonce}`);
}

/** Returns false if it was spent before. */
async function spend(
  tx: Tx,
  { nonce, expiresAt }: Pick<Challenge, 'nonce' | 'expiresAt'>,
): Promise<boolean> {
  const spent = await tx.run(sql`INSERT INTO spent_challenges (nonce, expires_at)
    VALUES (${nonce}, ${expiresAt}) ON CONFLICT (nonce) DO NOTHING`);
  return spent > 0;
}

/** Saves a challenge, and deletes expired ones and those beyond the limits of wallet and source. */
export async function saveChallenge(
  tx: Tx,
  { nonce, wallet, message, expiresAt }: Challenge,
  source: string,
): Promise<void> {
  await deleteChallenges(tx, expired(sql`(SELECT ${NOW})`));
  await tx.run(sql`INSERT INTO challenges (nonce, wallet, source, message, expires_at)
    VALUES (${nonce}, ${wallet}, ${source}, ${message}, ${expiresAt})
    ON CONFLICT (nonce) DO NOTHING`);
  await keepNewest(tx, sql`wallet = ${wallet} AND source = ${source}`, keptChallenges.ofWallet);
  await keepNewest(tx, sql`source = ${source}`, keptChallenges.ofSource);
}

/** PostgreSQL must not lock the rows that OFFSET skips, so they are selected in a query of their own. */
async function keepNewest(tx: Tx, which: Sql, kept: number): Promise<void> {
  const surplus = sql`SELECT seq FROM challenges WHERE ${which}
    ORDER BY seq DESC LIMIT ${PURGED_PER_WRITE} OFFSET ${raw(String(kept))}`;
  await deleteChallenges(tx, sql`seq IN (${surplus})`);
}

async function deleteChallenges(tx: Tx, which: Sql): Promise<void> {
  const chosen = sql`SELECT seq FROM challenges WHERE ${which} ${skipLocked}`;
  await tx.run(sql`DELETE FROM challenges WHERE seq ${selected(chosen)}`);
}

/** Notes that the wallet qualifies, and makes its sign-up grant if that is due. Call it inside a write. */
async function grantWhenDue(tx: Tx, wallet: string, grant: SignupGrant, now: number) {
  // The id is that of the wallet, so that it is granted once.
  const entry = grantEntry({ ...grant, id: `signup:${wallet}`, wallet, note: 'signup', now });
  if ((await findGrant(tx, entry.grantId)) !== null) return;
  const { qualifiedAt } = await tx.one<{ qualifiedAt: number }>(sql`UPDATE accounts
    SET qualified_at = coalesce(qualified_at, ${now})
    WHERE wallet = ${wallet} RETURNING qualified_at AS "qualifiedAt"`);
  // A concurrent sign-in waits, and then sees what this one granted.
  if (grant.anchorsPerDay !== null) await lockName(tx, 'signup grants');
  const { grantedToday } = await tx.one<{ grantedToday: number }>(
    sql`SELECT CAST(coalesce(sum(anchors), 0) AS bigint) AS "grantedToday"
      FROM ledger WHERE note = 'signup' AND at > ${now - DAY_MS} AND anchors > 0`,
  );
  if (isSignupGrantDue(grant, { qualifiedAt, grantedToday, now })) await postEntries(tx, [entry]);
}

/** The condition that a session is an account token, or is none. */
function isToken(token: boolean): Sql {
  return raw(token ? 'scope IS NOT NULL' : 'scope IS NULL');
}

export function sessionStore(db: Db): SessionStore {
  const { all, run, write } = db;
  return {
    async listSessions(wallet, now, limit, before, tokens = false) {
      const page = await all<SessionRow>(sql`SELECT ${SESSION_COLUMNS} FROM sessions
        WHERE wallet = ${wallet} AND id < ${before ?? LAST_ID} AND expires_at > ${now}
          AND ${isToken(tokens)}
        ORDER BY id DESC LIMIT ${limit}`);
      return page.map(toSession);
    },

    endSession: (wallet, id, by, token = false) =>
      write(async (tx) => {
        const ended = await tx.get<{ name: string | null }>(sql`DELETE FROM sessions
          WHERE id = ${id} AND wallet = ${wallet} AND ${isToken(token)} RETURNING name`);
        if (ended === null) return false;
        const kind = token ? 'token_revoked' : 'session_revoked';
        await recordAudit(tx, wallet, kind, by, { target_id: id, detail: ended.name });
        return true;
      }),

    createToken: ({ wallet, name, scope, issuer, ...session }, by) =>
      write(async (tx) => {
        await lockAccount(tx, wallet);
        if ((await lockLive(tx, issuer, session.createdAt)) === null) return 'session_ended';
        const { tokens } = await tx.one<{
          tokens: number;
        }>(sql`SELECT count(*) AS tokens FROM sessions
          WHERE wallet = ${wallet} AND ${isToken(true)} AND expires_at > ${session.createdAt}`);
        if (tokens >= limits.tokensPerAccount) return 'token_limit_reached';
        const token = { ...newRow(session, wallet), signed_in_with: 'token', name, scope };
        await insertNew(tx, 'sessions', [token]);
        const target = { target_id: session.id, detail: name };
        await recordAudit(tx, wallet, 'token_created', by, target);
        return 'created';
      }),

    async noteTokenUse(id, now) {
      await run(sql`UPDATE sessions SET last_used_at = ${now}
        WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at <= ${now - limits.windowMs})`);
    },

    ...cliCodes(db),
  };
}

function cliCodes({ get, write }: Db) {
  return {
    saveCliCode: ({ deviceHash, userHash, source, name, createdAt, expiresAt }) =>
      write(async (tx) => {
        await tx.run(sql`DELETE FROM cli_codes WHERE device_hash IN (SELECT device_hash
          FROM cli_codes WHERE ${expired(createdAt)} ${skipLocked})`);
        const live = sql`expires_at > ${createdAt}`;
        const ofSource = sql`source = ${source} AND ${live}`;
        if (await hasCodes(tx, ofSource, limits.openCliCodesOfSource)) return false;
        if (await hasCodes(tx, live, limits.openCliCodes)) await evictCode(tx);
        const saved = await tx.run(sql`INSERT INTO cli_codes
            (device_hash, user_hash, source, name, created_at, expires_at)
          VALUES (${deviceHash}, ${userHash}, ${source}, ${name}, ${createdAt}, ${expiresAt})
          ON CONFLICT DO NOTHING`);
        return saved > 0;
      }),

    decideCliCode: ({ userHash, decision, sessionId, now }) =>
      write(async (tx) => {
        const session = await lockLive(tx, sessionId, now);
        if (session === null) return 'session_ended';
        if (session.signed_in_with !== 'wallet') return 'not_by_wallet';
        if (session.wrong_codes >= limits.wrongCliCodes) return 'too_many_wrong';
        const found = await tx.get<CliCode & { device_hash: string }>(sql`SELECT device_hash, name,
            created_at AS "createdAt", expires_at AS "expiresAt" FROM cli_codes
          WHERE user_hash = ${userHash} AND expires_at > ${now} AND session_id IS NULL ${forUpdate}`);
        if (found === null) {
          await tx.run(
            sql`UPDATE sessions SET wrong_codes = wrong_codes + 1 WHERE id = ${sessionId}`,
          );
          return 'unknown';
        }
        const { device_hash: hash, ...code } = found;
        if (decision === 'allow') {
          await tx.run(
            sql`UPDATE cli_codes SET session_id = ${sessionId} WHERE device_hash = ${hash}`,
          );
        }
        if (decision === 'refuse') await removeCode(tx, hash);
        return code;
      }),

    async redeemCliCode({ deviceHash, session, now, by }) {
      // Anyone can send invented codes, so only an allowed code causes a write. The wallet is null if the code is pending,
      // or if the session that allowed it has ended.
      const found = await get<
        Record<'session_id' | 'wallet', string | null>
      >(sql`SELECT c.session_id, s.wallet
        FROM cli_codes c LEFT JOIN sessions s ON s.id = c.session_id
        WHERE c.device_hash = ${deviceHash} AND c.expires_at > ${now}`);
      if (found === null) return 'unknown';
      const { session_id: issuer, wallet } = found;
      if (issuer === null) return 'pending';
      if (wallet === null) return 'unknown';
      return write(async (tx) => {
        await lockAccount(tx, wallet);
        const suspended = sql`SELECT wallet FROM accounts
          WHERE wallet = ${wallet} AND coalesce(suspended_at, deleting_at) IS NOT NULL`;
        if ((await tx.get(suspended)) !== null) return 'account_suspended';
        if (!(await removeCode(tx, deviceHash))) return 'unknown';
        if ((await lockLive(tx, issuer, now)) === null) return 'unknown';
        await openSession(tx, session, wallet, 'cli_code', by);
        return { wallet };
      });
    },
  } satisfies Partial<SessionStore>;
}

/** Whether there are at least `count` such codes. */
async function hasCodes(tx: Tx, which: Sql, count: number): Promise<boolean> {
  const last = await tx.get(sql`SELECT device_hash FROM cli_codes WHERE ${which}
    LIMIT 1 OFFSET ${raw(String(count - 1))}`);
  return last !== null;
}

/** Deletes the oldest code of the source that has the most. */
async function evictCode(tx: Tx): Promise<void> {
  await tx.run(sql`DELETE FROM cli_codes WHERE device_hash = (SELECT device_hash FROM cli_codes
    WHERE source =
      (SELECT source FROM cli_codes GROUP BY source ORDER BY count(*) DESC, min(expires_at) LIMIT 1)
    ORDER BY expires_at LIMIT 1)`);
}

async function removeCode(tx: Tx, deviceHash: string): Promise<boolean> {
  return (await tx.run(sql`DELETE FROM cli_codes WHERE device_hash = ${deviceHash}`)) > 0;
}

/**
 * Finds a session that has not ended. The lock waits for a transaction that is ending it, and counts concurrent guesses
 * one after the other.
 */
function lockLive(tx: Tx, id: string, now: number) {
  return tx.get<{ signed_in_with: SignInMethod; wrong_codes: number }>(
    sql`SELECT signed_in_with, wrong_codes FROM sessions
      WHERE id = ${id} AND expires_at > ${now} ${forUpdate}`,
  );
}

/**
 * Opens a session and ends the account's oldest sessions beyond its limit. It never ends the new session, which looks
 * old if the clock went back. All sessions last equally long and ids are UUIDv7, so expired sessions are older than
 * live ones. Call it inside a write that has locked the account.
 */
async function openSession(
  tx: Tx,
  session: NewSession,
  wallet: string,
  signedInWith: SignInMethod,
  by?: Actor,
): Promise<void> {
  const opened = { ...newRow(session, wallet), signed_in_with: signedInWith };
  await insertNew(tx, 'sessions', [{ ...opened, name: null, scope: null }]);
  const target = { target_id: session.id, detail: signedInWith };
  await recordAudit(tx, wallet, 'sign_in', by, target);
  const ofAccount = sql`wallet = ${wallet} AND ${isToken(false)}`;
  const { length: excess } = await tx.all(sql`SELECT id FROM sessions WHERE ${ofAccount}
    LIMIT ${PURGED_PER_WRITE} OFFSET ${raw(String(limits.sessionsPerAccount))}`);
  if (excess === 0) return;
  await tx.run(sql`DELETE FROM sessions WHERE id IN (SELECT id FROM sessions
    WHERE ${ofAccount} AND id <> ${session.id} ORDER BY id LIMIT ${excess})`);
}

function newRow({ id, tokenHash, createdAt, expiresAt }: NewSession, wallet: string) {
  return { id, token_hash: tokenHash, wallet, created_at: createdAt, expires_at: expiresAt };
}
