import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/*
 * Evidence lies in the file encrypted, each under a key of its own in a row that never moves: SQLite may
 * leave copies of a row in pages that it has rearranged, and without the key none of them can be read. It
 * is a means to erase, no protection from somebody who has the file, where the keys lie too.
 */

const ALGORITHM = 'aes-256-gcm';
const TAG_BYTES = 16;
/** Each key seals one text. */
const NONCE = Buffer.alloc(12);

export function newProofKey(): Buffer {
  return randomBytes(32);
}

/** AES-256-GCM of the UTF-8 text: ciphertext, then the tag of 16 bytes. The key MUST be a new one. */
export function sealProof(proof: string, key: Buffer): Buffer {
  const cipher = createCipheriv(ALGORITHM, key, NONCE);
  return Buffer.concat([cipher.update(proof, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

/** Throws when it was not sealed with this key, or was altered. */
export function openProof(sealed: Buffer, key: Buffer): string {
  const decipher = createDecipheriv(ALGORITHM, key, NONCE, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  const text = [decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()];
  return Buffer.concat(text).toString('utf8');
}
