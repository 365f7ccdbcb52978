import type { Answer, Query } from '../../protocol/routes.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import type { Deps } from './deps.ts';
import { fault } from './fault.ts';
import { type Page, pageOf } from './page.ts';
import type { RateCount, SessionRecord } from './ports.ts';
import { hashToken } from './token.ts';

type Session = Answer<'listSessions'>['body']['items'][number];

/** The live session of a token; `counted` measures a mutation of its account. Throws `invalid_session`. */
export async function authenticateSession(
  { store, clock }: Deps,
  token: string,
  counted: boolean,
): Promise<{ session: SessionRecord; count: RateCount }> {
  const wellFormed = /^[0-9a-f]{64}$/.test(token);
  const found = wellFormed
    ? await store.authenticateSession(hashToken(token), counted, clock.now())
    : null;
  if (found === null) throw fault('invalid_session', 'The session is unknown or has ended.');
  return found;
}

/** Ends the session of a token at once, if there is one. */
export async function signOut({ store }: Deps, token: string | null): Promise<void> {
  if (token !== null) await store.revokeSession(hashToken(token));
}

/** One page of the account's live sessions, newest first; `current` is the one that asks. */
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
  throw fault('not_found', 'There is no such session of this account.');
}
