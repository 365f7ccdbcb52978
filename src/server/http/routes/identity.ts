// Handlers for the keys that robots sign with, and for their statements.
import type { Deps } from '../../core/deps.ts';
import { getIdentity, proposeKey, signKeyText } from '../../core/signing/identity.ts';
import { listStatements, sendStatements } from '../../core/signing/statements.ts';
import type { Handlers } from '../server/call.ts';
import type { LongReads } from '../server/in-flight.ts';

export function identityHandlers(deps: Deps, longReads: LongReads) {
  return {
    proposeKey: ({ caller, body }) => proposeKey(deps, caller, body.public_key),
    getIdentity: ({ caller, params }) => getIdentity(deps, caller.wallet, params.id),
    signKeyText: ({ caller, params, body }) => signKeyText(deps, caller, params.id, body),
    sendStatements: ({ caller, body }) => sendStatements(deps, caller, body.statements),
    listStatements: ({ caller: { wallet }, params, query }) =>
      longReads(wallet, () => listStatements(deps, wallet, params.id, query)),
  } satisfies Partial<Handlers>;
}
