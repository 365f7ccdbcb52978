// Sessions and tokens of an account, and the sign-in of the CLI through a browser.
import { hash, randomBytes } from 'node:crypto';
import { v7 as newId } from 'uuid';
import { limits } from '../../protocol/limits.ts';
import type { Answer, Body, Query } from '../../protocol/routes.ts';
import { formatIfAny, formatTimestamp } from '../../protocol/timestamp.ts';
import type { AccountToken } from '../../protocol/tokens.ts';
import type { Actor } from '../ports/account.ts';
import { wireError } from '../ports/errors.ts';
import type { AccountCaller, SessionRecord } from '../ports/sign-in.ts';
import { type Deleted, type Deps, deleted, noSuch } from './deps.ts';
import type { Page } from './paging.ts';
import { pageById } from './paging.ts';

type Session = Answer<'listSessions'>['body']['items'][number];

/** Whether a Bearer credential is meant as an account token, well-formed or not. */
export function isAccountToken(credential: string | null): credential is string {
  return credential?.startsWith('svct_') === true;
}

/**
 * Authenticates a session by its token, or an account token. `counted` also counts a mutation of the account. Throws
 * `invalid_session`, `invalid_token`.
 */
export async function authenticateSession({ store, clock }: Deps, token: string, counted: boolean) {
  const now = clock.now();
  const wellFormed = /^([0-9a-f]{64}|svct_[0-9a-f]{40})$/.test(token);
  const found = wellFormed ? await store.authenticateSession(hashToken(token), counted, now) : null;
  if (found === null) {
    throw isAccountToken(token)
      ? wireError('invalid_token', 'The account token is unknown, expired or revoked.')
      : wireError('invalid_session', 'The session is unknown or has ended.');
  }
  const { id, scope, lastUsedAt } = found.session;
  if (scope !== null && now - (lastUsedAt ?? 0) >= limits.windowMs) {
    // The last use is only shown to people, so it must not fail the request.
    await store.noteTokenUse(id, now).catch(() => {});
  }
  return found;
}

/**
 * Creates an account token. Only this response contains its secret. A session that was opened with a code can open
 * neither another session nor a token: a leak from a terminal ends with the session. Throws `wallet_session_required`,
 * `token_limit_reached`.
 */
export async function createToken(
  { store, clock }: Deps,
  { id: issuer, wallet, signedInWith, by }: AccountCaller,
  { name, scope, expires_in_days: days = limits.tokenDays }: Body<'createToken'>,
): Promise<Answer<'createToken'>['body']> {
  if (signedInWith !== 'wallet') {
    const message =
      'This session was opened with a code. Sign in with the wallet to create a token.';
    throw wireError('wallet_session_required', message);
  }
  const secret = `svct_${randomBytes(20).toString('hex')}`;
  const createdAt = clock.now();
  const expiresAt = createdAt + days * 24 * 60 * 60_000;
  const token = { id: newId(), wallet, name, scope, createdAt, expiresAt };
  const outcome = await store.createToken({ ...token, issuer, tokenHash: hashToken(secret) }, by);
  if (outcome === 'created') return { token: viewToken({ ...token, lastUsedAt: null }), secret };
  if (outcome === 'session_ended') throw wireError('invalid_session', 'The session has ended.');
  const message = `An account can have at most ${limits.tokensPerAccount} tokens. Revoke one first.`;
  throw wireError('token_limit_reached', message);
}

/** One page of the account's tokens that have not expired, newest first. */
export function listTokens({ store, clock }: Deps, wallet: string, query: Query<'listTokens'>) {
  const now = clock.now();
  return pageById(query, (...page) => store.listSessions(wallet, now, ...page, true), viewToken);
}

function viewToken(
  token: Pick<SessionRecord, 'id' | 'name' | 'scope' | 'createdAt' | 'expiresAt' | 'lastUsedAt'>,
): AccountToken {
  return {
    id: token.id,
    name: token.name ?? '',
    scope: token.scope ?? 'read',
    created_at: formatTimestamp(token.createdAt),
    expires_at: formatTimestamp(token.expiresAt),
    last_used_at: formatIfAny(token.lastUsedAt),
  };
}

/** Ends the session of a token at once, if there is one. */
export async function signOut({ store }: Deps, token: string | null, by: Actor): Promise<void> {
  if (token !== null) await store.revokeSession(hashToken(token), by);
}

/** One page of the account's live sessions, newest first. `current` marks the session of the call. */
export function listSessions(
  { store, clock }: Deps,
  { id: current, wallet }: AccountCaller,
  query: Query<'listSessions'>,
): Promise<Page<Session>> {
  return pageById(
    query,
    (...page) => store.listSessions(wallet, clock.now(), ...page),
    ({ id, signedInWith, createdAt, expiresAt }) => ({
      id,
      signed_in_with: signedInWith === 'wallet' ? 'wallet' : 'cli_code',
      created_at: formatTimestamp(createdAt),
      expires_at: formatTimestamp(expiresAt),
      current: id === current,
    }),
  );
}

/** Ends one of the account's sessions or tokens at once. Throws `not_found`. */
export async function endSession(
  { store }: Deps,
  { wallet, by }: AccountCaller,
  id: string,
  kind: 'session' | 'token',
): Promise<Deleted> {
  if (await store.endSession(wallet, id, by, kind === 'token')) return deleted;
  throw noSuch(kind);
}

/** The error of a call that a suspended account may not make. */
export function accountSuspended() {
  const message =
    'This account is suspended, or it is being deleted. Its data can be read; contact the operator to resume it.';
  return wireError('account_suspended', message);
}

/** Seconds between two requests for the token. */
const POLL_SECONDS = 2;

/** Digits of Crockford's base32, which people do not confuse. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/**
 * Creates the two codes of a sign-in through a browser (RFC 8628), valid for 10 minutes. The device code, 256 random
 * bits, stays with the command line; a person types the user code, 40 random bits. Throws `overloaded`.
 */
export async function startCliSignIn(
  { store, clock }: Deps,
  { name, source }: { name: string; source: string },
): Promise<Answer<'startCliSignIn'>['body']> {
  const device = randomBytes(32).toString('base64url');
  const user = Array.from(randomBytes(8), (byte) => DIGITS[byte % 32]).join('');
  const createdAt = clock.now();
  const expiresAt = createdAt + limits.cliCodeLifetimeMs;
  const hashes = { deviceHash: hashToken(device), userHash: hashToken(user) };
  if (!(await store.saveCliCode({ ...hashes, source, name, createdAt, expiresAt }))) {
    throw wireError('overloaded', 'Too many sign-ins of the command line are open. Retry later.');
  }
  return {
    device_code: device,
    user_code: `${user.slice(0, 4)}-${user.slice(4)}`,
    expires_at: formatTimestamp(expiresAt),
    interval: POLL_SECONDS,
  };
}

/**
 * Shows the sign-in of a user code, and allows or refuses it. Throws `invalid_code`, `invalid_session`, and
 * `wallet_session_required` for a session that a code opened, or that entered too many wrong codes.
 */
export async function decideCliSignIn(
  { store, clock }: Deps,
  { id: sessionId }: AccountCaller,
  { user_code: text, decision }: Body<'decideCliSignIn'>,
): Promise<Answer<'decideCliSignIn'>['body']> {
  const user = text.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1');
  const userHash = hashToken(user);
  const code = await store.decideCliCode({ userHash, decision, sessionId, now: clock.now() });
  if (code === 'session_ended') throw wireError('invalid_session', 'The session has ended.');
  if (code === 'not_by_wallet' || code === 'too_many_wrong') {
    throw wireError(
      'wallet_session_required',
      code === 'not_by_wallet'
        ? 'This session was opened with a code. Sign in with the wallet to enter a code.'
        : 'This session entered too many wrong codes. Sign in with the wallet again.',
    );
  }
  if (code === 'unknown') {
    throw wireError('invalid_code', 'The code is wrong, used or expired. Run svc login again.');
  }
  const { name, createdAt, expiresAt } = code;
  return {
    name,
    requested_at: formatTimestamp(createdAt),
    expires_at: formatTimestamp(expiresAt),
  };
}

/**
 * Opens a session for the CLI, once the code was allowed. Throws `authorization_pending`, `invalid_code` and
 * `account_suspended`.
 */
export async function redeemCliCode({ store, clock }: Deps, deviceCode: string, by: Actor) {
  const now = clock.now();
  const { token, session } = newSession(now);
  const deviceHash = hashToken(deviceCode);
  const found = await store.redeemCliCode({ deviceHash, session, now, by });
  if (found === 'pending') {
    throw wireError('authorization_pending', 'The code was not allowed in a browser yet.');
  }
  if (found === 'account_suspended') throw accountSuspended();
  if (found === 'unknown') {
    throw wireError('invalid_code', 'The code is unknown, used, refused or expired.');
  }
  const { wallet } = found;
  const expires_at = formatTimestamp(session.expiresAt);
  return { token, wallet, expires_at } satisfies Answer<'redeemCliCode'>['body'];
}

/** A session that is not stored yet, and its token. */
export function newSession(now: number) {
  const token = randomBytes(32).toString('hex');
  const expiresAt = now + limits.sessionLifetimeMs;
  const session = { id: newId(), tokenHash: hashToken(token), createdAt: now, expiresAt };
  return { token, session };
}

/** The form in which the store keeps an API key or session token: the SHA-256 of its text, 64 hex digits. */
export function hashToken(token: string): string {
  return hash('sha256', token);
}
