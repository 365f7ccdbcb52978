// The key of an anchoring account for promises: Ed25519, derived from the account's private key, so that operators keep
// one secret only.
import { createPrivateKey, createPublicKey, hkdfSync, sign } from 'node:crypto';
import type { Hex } from '../../proof/bytes.ts';
import { joinSignature } from '../../proof/statements/jws.ts';
import { type AnchorPromise, PROMISE_TYP, promiseText } from '../../proof/statements/promise.ts';
import { type PublicKey, readPublicKey, thumbprintOf } from '../../proof/statements/public-key.ts';

export interface PromiseKey {
  readonly kid: string;
  readonly publicKey: PublicKey;
  /** Signs a promise. Returns a JWS. Equal promises have equal signatures. */
  signPromise(promise: AnchorPromise): string;
}

/** The start of an Ed25519 private key in PKCS #8 (RFC 8410), before its 32 bytes. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** HKDF-SHA256 (RFC 5869) of the private key, without salt, with the `typ` of promises as info. */
export function promiseKeyOf(privateKey: Hex): PromiseKey {
  const seed = hkdfSync('sha256', Buffer.from(privateKey.slice(2), 'hex'), '', PROMISE_TYP, 32);
  const der = Buffer.concat([PKCS8, Buffer.from(seed)]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const { kty, crv, x } = createPublicKey(key).export({ format: 'jwk' });
  const publicKey = readPublicKey({ kty: `${kty}`, crv: `${crv}`, x: `${x}` });
  const kid = thumbprintOf(publicKey);
  return {
    kid,
    publicKey,
    signPromise(promise) {
      const text = promiseText({ alg: 'Ed25519', kid }, promise);
      return joinSignature(text, sign(null, Buffer.from(text), key));
    },
  };
}
