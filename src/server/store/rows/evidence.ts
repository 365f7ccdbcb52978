// Encrypts evidence at rest, so that erasing its key erases the evidence.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/*
 * Each piece of evidence is encrypted under a key of its own. SQLite may leave copies of a row in pages that it
 * rearranged; the row of a key never moves, and without the key no copy of the evidence can be read. The encryption
 * serves erasure only: it does not protect against a reader of the file, which holds the keys too.
 */

const ALGORITHM = 'aes-256-gcm';
const TAG_BYTES = 16;
/** A constant nonce is safe because each key encrypts one text only. */
const NONCE = Buffer.alloc(12);

export function newProofKey(): Buffer {
  return randomBytes(32);
}

/** Encrypts the UTF-8 text with AES-256-GCM: ciphertext, then the 16-byte tag. The key MUST be new. */
export function sealProof(proof: string, key: Buffer): Buffer {
  const cipher = createCipheriv(ALGORITHM, key, NONCE);
  return Buffer.concat([cipher.update(proof, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

/** @throws Error if the evidence was sealed with another key or was altered. */
export function openProof(sealed: Buffer, key: Buffer): string {
  const decipher = createDecipheriv(ALGORITHM, key, NONCE, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  const text = [decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()];
  return Buffer.concat(text).toString('utf8');
}
