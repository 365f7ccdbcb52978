// Sessions of an account, and the sign-in of the CLI through a browser.
import { hash, randomBytes } from 'node:crypto';
import { v7 as newId } from 'uuid';
import { limits } from '../../protocol/limits.ts';
import type { Answer, Body, Query } from '../../protocol/routes.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import { wireError } from '../ports/errors.ts';
import type { Page } from '../ports/json-text.ts';
import type { RateCount } from '../ports/rate-count.ts';
import type { SessionRecord } from '../ports/sign-in.ts';
import type { Deps } from './deps.ts';
import { pageOf } from './paging.ts';

type Session = Answer<'listSessions'>['body']['items'][number];

/** Authenticates a session by its token. `counted` also counts a mutation of its account. Throws `invalid_session`. */
export async function authenticateSession(
  { store, clock }: Deps,
  token: string,
  counted: boolean,
): Promise<{ session: SessionRecord; count: RateCount }> {
  const wellFormed = /^[0-9a-f]{64}$/.test(token);
  const found = wellFormed
    ? await store.authenticateSession(hashToken(token), counted, clock.now())
    : null;
  if (found === null) throw wireError('invalid_session', 'The session is unknown or has ended.');
  return found;
}

/** Ends the session of a token at once, if there is one. */
export async function signOut({ store }: Deps, token: string | null): Promise<void> {
  if (token !== null) await store.revokeSession(hashToken(token));
}

/** One page of the account's live sessions, newest first. `current` marks the session of the call. */
export function listSessions(
  { store, clock }: Deps,
  { id: current, wallet }: SessionRecord,
  { limit, cursor }: Query<'listSessions'>,
): Promise<Page<Session>> {
  return pageOf(limit, (count) => store.listSessions(wallet, clock.now(), count, cursor ?? null), {
    cursorOf: ({ id }) => id,
    view: ({ id, signedInWith, createdAt, expiresAt }) => ({
      id,
      signed_in_with: signedInWith,
      created_at: formatTimestamp(createdAt),
      expires_at: formatTimestamp(expiresAt),
      current: id === current,
    }),
  });
}

/** Ends one of the account's sessions at once. Throws `not_found`. */
export async function endSession({ store }: Deps, wallet: string, id: string): Promise<void> {
  if (await store.endSession(wallet, id)) return;
  throw wireError('not_found', 'This account has no session with this id.');
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
  { id: sessionId }: SessionRecord,
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

/** Opens a session for the CLI, once the code was allowed. Throws `authorization_pending`, `invalid_code`. */
export async function redeemCliCode(
  { store, clock }: Deps,
  deviceCode: string,
): Promise<Answer<'redeemCliCode'>['body']> {
  const token = randomBytes(32).toString('hex');
  const now = clock.now();
  const expiresAt = now + limits.sessionLifetimeMs;
  const session = { id: newId(), tokenHash: hashToken(token), createdAt: now, expiresAt };
  const found = await store.redeemCliCode({ deviceHash: hashToken(deviceCode), session, now });
  if (found === 'pending') {
    throw wireError('authorization_pending', 'The code was not allowed in a browser yet.');
  }
  if (found === 'unknown') {
    throw wireError('invalid_code', 'The code is unknown, used, refused or expired.');
  }
  return { token, wallet: found.wallet, expires_at: formatTimestamp(expiresAt) };
}

/** The form in which the store keeps an API key or session token: the SHA-256 of its text, 64 hex digits. */
export function hashToken(token: string): string {
  return hash('sha256', token);
}
