// Encrypts bytes with AES-256-GCM.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Content that is bound to a place or encrypted under a nonce of the caller's. */
interface Binding {
  /** `decrypt` needs the same. Default: none. */
  scope?: string;
  /** 12 bytes. No other content may have it under the same key. */
  nonce: Uint8Array;
}

/** Returns the encrypted content and the 16-byte tag. */
export function encrypt(
  key: Uint8Array,
  content: Uint8Array,
  { scope = '', nonce }: Binding,
): Buffer {
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(scope));
  return Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()]);
}

/** @throws Error if the content was encrypted with another key, scope or nonce, or was altered. */
export function decrypt(
  key: Uint8Array,
  sealed: Uint8Array,
  { scope = '', nonce }: Binding,
): Buffer {
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(scope)).setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
}

/** A random nonce, then what `encrypt` returns. `scope` binds the content to its place: `open` needs the same. */
export function seal(key: Uint8Array, scope: string, content: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  return Buffer.concat([nonce, encrypt(key, content, { scope, nonce })]);
}

/** @throws Error if the content was sealed with another key or scope, or was altered. */
export function open(key: Uint8Array, scope: string, sealed: Uint8Array): Buffer {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  return decrypt(key, sealed.subarray(NONCE_BYTES), { scope, nonce });
}
