import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, type Hex } from './bytes.ts';
import { canonicalJson, writeCanonicalJson } from './canonical-json.ts';
import type { JsonObject, Proof } from './json-value.ts';
import { encodeUtf8 } from './utf8.ts';

/** The members of a task that the chain commits to beside the proof; absent ones count as null. */
export interface ClaimContent {
  readonly created_at: string;
  readonly description?: string | null;
  readonly expected_result?: JsonObject | null;
  readonly occurred_at?: string | null;
  readonly title: string;
}

/** Characters of canonical text that are hashed at once. */
const PIECE = 1 << 16;

/**
 * `SHA-256(JCS(proof))`, in memory for the proof alone, not for its text. `onHashed` is told from time to time
 * how many characters of that text are done.
 *
 * @throws TypeError when `proof` is not made of JSON values alone (see `canonicalJson`).
 */
export function hashProof(proof: Proof, onHashed: (characters: number) => void = () => {}): Hex {
  const hash = sha256.create();
  let waiting = '';
  let hashed = 0;
  const flush = () => {
    hash.update(encodeUtf8(waiting));
    hashed += waiting.length;
    waiting = '';
  };
  writeCanonicalJson(proof, (piece) => {
    waiting += piece;
    if (waiting.length < PIECE) return;
    flush();
    onHashed(hashed);
  });
  flush();
  return bytesToHex(hash.digest());
}

/**
 * `SHA-256(JCS({ created_at, description, expected_result, occurred_at, title }))`; other members of
 * the argument play no part.
 *
 * @throws TypeError when `expected_result` is not made of JSON values alone.
 */
export function hashClaim(claim: ClaimContent): Hex {
  const text = canonicalJson({
    created_at: claim.created_at,
    description: claim.description ?? null,
    expected_result: claim.expected_result ?? null,
    occurred_at: claim.occurred_at ?? null,
    title: claim.title,
  });
  return hashCanonicalText(text);
}

/** The hash of a text that `canonicalJson` made, for callers that need the text too. */
export function hashCanonicalText(text: string): Hex {
  return bytesToHex(sha256(encodeUtf8(text)));
}
