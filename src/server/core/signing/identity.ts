// Reads the keys that a robot signs with, proposes a key, and puts keys into use and out of use.

import { orNull } from '../../../base/or-null.ts';
import { expandCompact } from '../../../chain/signatures.ts';
import type { Hex } from '../../../proof/bytes.ts';
import { DocumentError } from '../../../proof/document-error.ts';
import { type PublicKey, readPublicKey } from '../../../proof/statements/public-key.ts';
import type { SigningIdentity } from '../../../protocol/identity.ts';
import type { Body } from '../../../protocol/routes.ts';
import { formatTimestamp } from '../../../protocol/timestamp.ts';
import { wireError } from '../../ports/errors.ts';
import type { IdentityRecord, KeyTextDecision, SignedKeyText } from '../../ports/identity.ts';
import type { RobotCaller } from '../../ports/robots.ts';
import type { AccountCaller } from '../../ports/sign-in.ts';
import { decideKeyText } from '../../rules/identity.ts';
import { type Deps, found, keyRevoked, recording } from '../deps.ts';

/** Proposes the key that the owner's wallet may put into use. Throws `invalid_key` and `invalid_api_key`. */
export async function proposeKey(
  deps: Deps,
  robot: RobotCaller,
  document: Body<'proposeKey'>['public_key'],
) {
  const identity = await deps.store.proposeKey(robot, requireKey(document));
  if (identity === null) throw keyRevoked();
  return { identity: viewIdentity(deps, identity) };
}

/** Throws `not_found`. */
export async function getIdentity(deps: Deps, wallet: string, robotId: string) {
  const identity = found('robot', await deps.store.getIdentity(robotId, wallet));
  return { identity: viewIdentity(deps, identity) };
}

/**
 * Puts a key into use or out of use. The wallet's signature of the text authorizes it; a revocation succeeds also in an
 * account without storage. Throws `not_found`, `invalid_key_text`, `invalid_signature`, `chain_unavailable` if a contract
 * wallet must decide, and `storage_quota` for a grant.
 */
export async function signKeyText(
  deps: Deps,
  { wallet, by }: AccountCaller,
  robotId: string,
  { text, signature: given }: Body<'signKeyText'>,
) {
  const { store, clock } = deps;
  const origin = originOf(deps);
  const before = found('robot', await store.getIdentity(robotId, wallet));
  const expected = requireAccepted(decideKeyText(text, before, origin));
  if (expected !== 'repeated') {
    // As verifiers read it: in lowercase, and not in the compact form.
    const signature = expandCompact(given.toLowerCase() as Hex); // By the schema.
    const signed = { robotId, wallet, origin, text, signature };
    await requireSignature(deps, wallet, text, signed.signature);
    const save = () => store.saveKeyText({ ...signed, now: clock.now() }, by);
    const saved = await (expected === 'granted' ? recording(deps, wallet, save) : save());
    requireAccepted(found('robot', saved));
    store.changed(wallet, { robot: robotId });
  }
  return getIdentity(deps, wallet, robotId);
}

function requireAccepted(decision: KeyTextDecision) {
  if (decision.outcome === 'refused') throw wireError('invalid_key_text', decision.reason);
  return decision.outcome;
}

/** Accepts what signs a sign-in: a signature that can be checked here, or one that the wallet's contract accepts. */
async function requireSignature({ chain }: Deps, wallet: string, text: string, signature: Hex) {
  if ((await chain.recoverWallet(text, signature)) === wallet) return;
  if (await chain.isContractSignature(wallet, text, signature)) return;
  throw wireError('invalid_signature', 'The wallet of the account did not sign this text.');
}

function requireKey(document: Body<'proposeKey'>['public_key']): PublicKey {
  const key = orNull(() => readPublicKey(document), [DocumentError]);
  if (key !== null) return key;
  const message = 'public_key must be an Ed25519 or P-256 key in the form of docs/statements.md.';
  throw wireError('invalid_key', message);
}

function originOf({ settings }: Pick<Deps, 'settings'>): string {
  return new URL(settings.baseUrl).origin;
}

function viewIdentity(deps: Pick<Deps, 'settings'>, identity: IdentityRecord): SigningIdentity {
  const { robotId, wallet, proposedKey, keys, nextNumber, last } = identity;
  return {
    origin: originOf(deps),
    wallet,
    robot_id: robotId,
    proposed_key: proposedKey,
    signs: keys.length > 0,
    next_number: nextNumber,
    last: last && { number: last.number, signed_hash: last.signedHash, statement: last.text },
    keys: keys.map(({ kid, publicKey, grant, revocation }) => ({
      kid,
      public_key: publicKey,
      grant: viewKeyText(grant),
      revocation: revocation && viewKeyText(revocation),
    })),
  };
}

function viewKeyText({ text, signature, signedAt }: SignedKeyText) {
  return { text, signature, signed_at: formatTimestamp(signedAt) };
}
