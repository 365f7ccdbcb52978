// The public keys of robots and services, as JSON Web Keys, and the check of their signatures.
import { sha256, sha512 } from '@noble/hashes/sha2.js';
import { concatBytes } from '@noble/hashes/utils.js';
import { canonicalJson } from '../canonical-json.ts';
import { DocumentError } from '../document-error.ts';
import type { JsonValue } from '../json-value.ts';
import { Members } from '../subject/members.ts';
import { encodeUtf8 } from '../utf8.ts';
import { BASE64URL_32, base64urlOf, bytesOfBase64url } from './base64url.ts';

/** The `alg` of a JWS: RFC 9864 for `Ed25519`, RFC 7518 for `ES256` (ECDSA on P-256 with SHA-256). */
export type Algorithm = 'Ed25519' | 'ES256';

/** A JSON Web Key (RFC 7517) with these members only. `x` and `y` are 32 bytes as base64url. */
export type PublicKey =
  | { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string }
  | { readonly kty: 'EC'; readonly crv: 'P-256'; readonly x: string; readonly y: string };

/** Whether the 64 bytes sign the text. */
export type CheckSignature = (signed: string, signature: Uint8Array) => Promise<boolean>;

/**
 * Reads a key.
 *
 * @throws DocumentError if a member is missing, malformed or unknown, an Ed25519 key is not in its shortest form or has
 *   a small order, or a P-256 key is not on the curve.
 */
export function readPublicKey(document: JsonValue | undefined): PublicKey {
  const members = new Members('key', document);
  const isEdwards = members.value('kty') === 'OKP';
  members.require('kty', isEdwards ? 'OKP' : 'EC');
  members.require('crv', isEdwards ? 'Ed25519' : 'P-256');
  const x = members.text('x', BASE64URL_32);
  const key: PublicKey = isEdwards
    ? { kty: 'OKP', crv: 'Ed25519', x }
    : { kty: 'EC', crv: 'P-256', x, y: members.text('y', BASE64URL_32) };
  members.requireNoOther();
  if (!isSafe(key)) throw new DocumentError('key', `x must be a point of ${key.crv}`);
  return key;
}

export function algorithmOf(key: PublicKey): Algorithm {
  return key.kty === 'OKP' ? 'Ed25519' : 'ES256';
}

/** The SHA-256 thumbprint (RFC 7638) as base64url. */
export function thumbprintOf(key: PublicKey): string {
  return base64urlOf(sha256(encodeUtf8(canonicalJson(key))));
}

/**
 * Opens a key to check signatures. Ed25519 (RFC 8032) is checked without the cofactor. An ES256 signature is `r ‖ s`,
 * 32 bytes each, with `s` at most half the order: libraries that accept the other `s` would accept two signatures.
 */
export async function openKey(key: PublicKey): Promise<CheckSignature> {
  const name = key.kty === 'OKP' ? 'Ed25519' : 'ECDSA';
  const algorithm = { name, namedCurve: key.crv, hash: 'SHA-256' };
  const imported = await crypto.subtle
    .importKey('jwk', { ...key }, algorithm, false, ['verify'])
    .catch(() => null);
  // Browsers of before 2025 lack Ed25519.
  if (imported === null) return key.kty === 'OKP' ? openWithoutPlatform(key) : async () => false;
  return async (signed, signature) => {
    if (signature.length !== 64 || (key.kty === 'EC' && !isLowS(signature))) return false;
    // Copied, because the types of browsers refuse bytes that may be shared between threads.
    const [signatureBytes, data] = [
      Uint8Array.from(signature),
      Uint8Array.from(encodeUtf8(signed)),
    ];
    return crypto.subtle.verify(algorithm, imported, signatureBytes, data);
  };
}

async function openWithoutPlatform({ x }: PublicKey): Promise<CheckSignature> {
  const { ed25519 } = await import('@noble/curves/ed25519.js');
  const Point = ed25519.ExtendedPoint;
  const keyBytes = coordinate(x);
  return async (signed, signature) => {
    const [r, s] = [signature.slice(0, 32), littleEndian(signature.slice(32))];
    if (signature.length !== 64 || s >= ORDER_25519) return false;
    const challenge = littleEndian(sha512(concatBytes(r, keyBytes, encodeUtf8(signed))));
    try {
      const minus = Point.fromHex(keyBytes)
        .multiplyUnsafe(challenge % ORDER_25519)
        .negate();
      const found = Point.BASE.multiplyUnsafe(s).add(minus).toRawBytes();
      return found.every((byte, at) => byte === r[at]);
    } catch {
      return false; // The key is not on the curve.
    }
  };
}

const P_25519 = 2n ** 255n - 19n;
const ORDER_25519 = 2n ** 252n + 27742317777372353535851937790883648493n;

/** The y coordinates of the eight points whose order divides the cofactor: any signature would fit such a key. */
const SMALL_ORDER_Y = [
  0n,
  1n,
  P_25519 - 1n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
];

const P_256 = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
const B_256 = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn;
const ORDER_256 = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

function isSafe(key: PublicKey): boolean {
  if (key.kty === 'OKP') {
    // Its highest bit is the sign of x (RFC 8032, section 5.1.2).
    const y = littleEndian(coordinate(key.x)) & (2n ** 255n - 1n);
    return y < P_25519 && !SMALL_ORDER_Y.includes(y);
  }
  const [x, y] = [bigEndian(coordinate(key.x)), bigEndian(coordinate(key.y))];
  return x < P_256 && y < P_256 && (y * y - x * x * x + 3n * x - B_256) % P_256 === 0n;
}

function isLowS(signature: Uint8Array): boolean {
  const [r, s] = [bigEndian(signature.slice(0, 32)), bigEndian(signature.slice(32))];
  return r > 0n && r < ORDER_256 && s > 0n && s <= ORDER_256 / 2n;
}

function coordinate(base64url: string): Uint8Array {
  return bytesOfBase64url(base64url) ?? new Uint8Array();
}

function bigEndian(bytes: Uint8Array): bigint {
  return bytes.reduce((number, byte) => number * 256n + BigInt(byte), 0n);
}

function littleEndian(bytes: Uint8Array): bigint {
  return bigEndian(bytes.toReversed());
}
