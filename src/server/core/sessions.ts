// Sessions of an account, and the sign-in of the CLI through a browser.
import { createHash, hash, randomBytes } from 'node:crypto';
import { v7 as newId } from 'uuid';
import { limits } from '../../protocol/limits.ts';
import type { Answer, Query } from '../../protocol/routes.ts';
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

/**
 * Creates a code that opens a session of the same account for the client that knows the verifier of the challenge. The
 * code has 256 random bits and works once, within 60 s, while the session that created it is live. Throws
 * `invalid_session`, and `wallet_session_required` for a session that was itself opened by a code.
 */
export async function authorizeCli(
  { store, clock }: Deps,
  session: SessionRecord,
  challenge: string,
): Promise<{ code: string; expires_at: string }> {
  const code = randomBytes(32).toString('base64url');
  const createdAt = clock.now();
  const expiresAt = createdAt + limits.cliCodeLifetimeMs;
  const outcome = await store.saveCliCode({
    codeHash: hashToken(code),
    challenge,
    sessionId: session.id,
    createdAt,
    expiresAt,
  });
  if (outcome === 'session_ended') throw wireError('invalid_session', 'The session has ended.');
  if (outcome === 'not_by_wallet') {
    throw wireError(
      'wallet_session_required',
      'This session was opened with a code. Sign in with the wallet to create another code.',
    );
  }
  return { code, expires_at: formatTimestamp(expiresAt) };
}

/** Opens a session for the CLI. The code is spent, whether right or wrong. Throws `invalid_code`. */
export async function redeemCliCode(
  { store, clock }: Deps,
  { code, verifier }: { code: string; verifier: string },
): Promise<{ token: string; wallet: string; expires_at: string }> {
  const token = randomBytes(32).toString('hex');
  const now = clock.now();
  const expiresAt = now + limits.sessionLifetimeMs;
  const redeemed = await store.redeemCliCode({
    codeHash: hashToken(code),
    challenge: createHash('sha256').update(verifier).digest('base64url'),
    session: { id: newId(), tokenHash: hashToken(token), createdAt: now, expiresAt },
    now,
  });
  if (redeemed === null) {
    throw wireError(
      'invalid_code',
      'The code is unknown, used or expired, or the verifier does not match it. Sign in again.',
    );
  }
  return { token, wallet: redeemed.wallet, expires_at: formatTimestamp(expiresAt) };
}

/** The form in which the store keeps an API key or session token: the SHA-256 of its text, 64 hex digits. */
export function hashToken(token: string): string {
  return hash('sha256', token);
}
