import type { Deps } from './deps.ts';
import { fault } from './fault.ts';
import type { RateCount, SessionRecord } from './ports.ts';
import { hashToken } from './token.ts';

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
