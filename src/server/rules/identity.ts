// Decides whether a signed text puts a key of a robot into use or out of use.

import { orNull } from '../../base/or-null.ts';
import { DocumentError } from '../../proof/document-error.ts';
import {
  type KeyGrant,
  type KeyRevocation,
  kidOf,
  readGrantText,
  readRevocationText,
} from '../../proof/statements/key-text.ts';
import { algorithmOf, thumbprintOf } from '../../proof/statements/public-key.ts';
import type { IdentityRecord, KeyTextDecision } from '../ports/identity.ts';

/** The wallet's signature is checked elsewhere. */
export function decideKeyText(
  text: string,
  identity: IdentityRecord,
  origin: string,
): KeyTextDecision {
  const kid = kidOf(text);
  const isKnown = identity.keys.some((key) => key.kid === kid || key.revocation?.text === text);
  if (isKnown) return { outcome: 'repeated' };
  const read =
    orNull(() => readGrantText(text), [DocumentError]) ??
    orNull(() => readRevocationText(text), [DocumentError]);
  if (read === null) {
    return refused('The text is not one that puts a key into use or out of use.');
  }
  if (read.origin !== origin) return refused(`The origin must be ${origin}.`);
  const { wallet, robotId } = identity;
  if (read.wallet !== wallet.toLowerCase())
    return refused('The wallet must be that of the account.');
  if (read.robot_id !== robotId) return refused('The robot must be that of the path.');
  return 'thumbprint' in read ? decideGrant(kid, read, identity) : decideRevocation(read, identity);
}

/** The number of the next statement of a robot. Numbers are never used again, also by another key. */
export function nextNumber(
  keys: readonly { lastNumber: number | null; highest: number | null }[],
): number {
  return Math.max(0, ...keys.flatMap((key) => [key.lastNumber ?? 0, key.highest ?? 0])) + 1;
}

function decideGrant(
  kid: string,
  grant: KeyGrant,
  { proposedKey, keys, nextNumber: next }: IdentityRecord,
): KeyTextDecision {
  const isProposed =
    proposedKey !== null &&
    grant.thumbprint === thumbprintOf(proposedKey) &&
    grant.algorithm === algorithmOf(proposedKey);
  if (!isProposed) return refused('The key must be the one that the robot proposes.');
  const newest = keys.at(-1)?.kid ?? null;
  if (grant.predecessor !== newest) {
    return refused(`The previous key must be ${newest ?? 'none'}.`);
  }
  if (grant.first_number !== next) return refused(`The first number must be ${next}.`);
  return { outcome: 'granted', key: { kid, publicKey: proposedKey, firstNumber: next } };
}

function decideRevocation(
  { kid, last }: KeyRevocation,
  { keys }: Pick<IdentityRecord, 'keys'>,
): KeyTextDecision {
  const key = keys.find((one) => one.kid === kid);
  if (key === undefined) return refused('The robot has no such key.');
  if (key.revocation !== null) return refused('The key is out of use already.');
  if (last !== null && last.number < key.firstNumber) {
    return refused(`The first number of the key is ${key.firstNumber}.`);
  }
  const lastNumber = Math.min(last?.number ?? 0, key.lastNumber ?? Number.MAX_SAFE_INTEGER);
  return { outcome: 'revoked', kid, lastNumber };
}

function refused(reason: string): KeyTextDecision {
  return { outcome: 'refused', reason };
}
