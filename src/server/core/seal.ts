// Encrypts bytes with AES-256-GCM.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Nonce, encrypted content and tag. `scope` binds the content to its place: `open` needs the same. */
export function seal(key: Uint8Array, scope: string, content: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(scope));
  return Buffer.concat([nonce, cipher.update(content), cipher.final(), cipher.getAuthTag()]);
}

/** @throws Error if the content was sealed with another key or scope, or was altered. */
export function open(key: Uint8Array, scope: string, sealed: Uint8Array): Buffer {
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES));
  decipher.setAAD(Buffer.from(scope)).setAuthTag(sealed.subarray(-TAG_BYTES));
  const encrypted = sealed.subarray(NONCE_BYTES, -TAG_BYTES);
  return Buffer.concat([decipher.update(encrypted), decipher.final()]);
}
