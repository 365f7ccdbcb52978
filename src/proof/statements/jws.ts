// Signed texts of robots and services: JSON Web Signatures in compact form (RFC 7515).
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, type Hex } from '../bytes.ts';
import { canonicalJson } from '../canonical-json.ts';
import { DocumentError } from '../document-error.ts';
import type { JsonObject, JsonValue } from '../json-value.ts';
import { parseStrictJson } from '../strict-json.ts';
import { StrictJsonError } from '../strict-json-error.ts';
import { isObject, Members } from '../subject/members.ts';
import { decodeUtf8, encodeUtf8 } from '../utf8.ts';
import { BASE64URL_32, base64urlOf, bytesOfBase64url } from './base64url.ts';
import type { Algorithm } from './public-key.ts';

/** Longest text read, in characters: a promise for 50 proofs has about 12 000. */
const MAX_CHARACTERS = 16_384;

/** What is signed: the kind of document, and the key. */
export interface JwsHeader {
  readonly alg: Algorithm;
  /** Of a robot's key, the SHA-256 of the key text; of a service's key, its thumbprint. base64url. */
  readonly kid: string;
  readonly typ: string;
}

/** A JWS in compact form, whose signature is not checked yet. */
export interface Jws {
  readonly header: JwsHeader;
  readonly payload: JsonObject;
  /** Header and payload, as they are signed. */
  readonly signed: string;
  readonly signature: Uint8Array;
}

/** Header and payload in the form that is signed: both as canonical JSON (RFC 8785) in base64url. */
export function signedText(header: JwsHeader, payload: object): string {
  return `${partOf(header)}.${partOf(payload)}`;
}

export function joinSignature(signed: string, signature: Uint8Array): string {
  return `${signed}.${base64urlOf(signature)}`;
}

/** The SHA-256 of a text. */
export function hashText(text: string): Hex {
  return bytesToHex(sha256(encodeUtf8(text)));
}

/**
 * Reads a JWS. Every text has one reading: header and payload must be canonical JSON, each part the only base64url of its
 * bytes, and the header has `alg`, `kid` and `typ` and nothing else.
 *
 * @throws DocumentError
 */
export function readJws(noun: DocumentError['document'], typ: string, text: string): Jws {
  const [header = '', payload = '', signature = '', ...rest] =
    text.length > MAX_CHARACTERS ? [] : text.split('.');
  const signatureBytes = bytesOfBase64url(signature);
  if (rest.length > 0 || signatureBytes?.length !== 64) {
    const message = `the ${noun} must be a JWS in compact form with a signature of 64 bytes`;
    throw new DocumentError(noun, message);
  }
  const members = new Members(noun, canonicalPart(noun, 'header', header));
  const alg = members.text('alg', ALGORITHM) as Algorithm; // The form allows no other.
  const kid = members.text('kid', BASE64URL_32);
  members.require('typ', typ);
  members.requireNoOther();
  return {
    header: { alg, kid, typ },
    payload: canonicalPart(noun, 'payload', payload),
    signed: `${header}.${payload}`,
    signature: signatureBytes,
  };
}

const ALGORITHM = { pattern: /^(?:Ed25519|ES256)$/, name: 'Ed25519 or ES256' };

function partOf(value: object): string {
  return base64urlOf(encodeUtf8(canonicalJson(value)));
}

function canonicalPart(
  noun: DocumentError['document'],
  part: string,
  base64url: string,
): JsonObject {
  const bytes = bytesOfBase64url(base64url);
  const value = bytes === null ? undefined : jsonOf(bytes);
  if (!isObject(value) || partOf(value) !== base64url) {
    throw new DocumentError(noun, `the ${part} must be an object of canonical JSON as base64url`);
  }
  return value;
}

/** Undefined if the bytes are not strict JSON. */
function jsonOf(bytes: Uint8Array): JsonValue | undefined {
  try {
    return parseStrictJson(decodeUtf8(bytes), { maxDepth: 8 });
  } catch (error) {
    if (error instanceof StrictJsonError) return undefined;
    throw error;
  }
}
