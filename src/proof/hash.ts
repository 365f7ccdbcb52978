// SHA-256 hashes of evidence and claims.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, type Hex } from './bytes.ts';
import { canonicalPieces } from './canonical-json.ts';
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

/**
 * `SHA-256(JCS(proof))`, in memory for the proof alone, not for its text. `onHashed` is told from time to time
 * how many characters of that text are done.
 *
 * @throws TypeError when `proof` is not made of JSON values alone (see `canonicalJson`).
 */
export function hashProof(proof: Proof, onHashed?: (characters: number) => void): Hex {
  return finish(hashInPieces(proof), onHashed);
}

/**
 * `SHA-256(JCS({ created_at, description, expected_result, occurred_at, title }))`; other members of
 * the argument play no part.
 *
 * @throws TypeError when `expected_result` is not made of JSON values alone.
 */
export function hashClaim(claim: ClaimContent): Hex {
  return finish(hashClaimInPieces(claim));
}

/** The same as a computation that pauses from time to time. */
export function hashClaimInPieces(claim: ClaimContent): Generator<number, Hex> {
  return hashInPieces({
    created_at: claim.created_at,
    description: claim.description ?? null,
    expected_result: claim.expected_result ?? null,
    occurred_at: claim.occurred_at ?? null,
    title: claim.title,
  });
}

/** The hash of a text that `canonicalJson` made, for callers that need the text too. */
export function hashCanonicalText(text: string): Hex {
  return bytesToHex(sha256(encodeUtf8(text)));
}

/** Pauses with how many characters of the canonical text are hashed. */
function* hashInPieces(value: unknown): Generator<number, Hex> {
  const hash = sha256.create();
  let hashed = 0;
  for (const piece of canonicalPieces(value)) {
    hash.update(encodeUtf8(piece));
    hashed += piece.length;
    yield hashed;
  }
  return bytesToHex(hash.digest());
}

function finish(hashing: Generator<number, Hex>, onHashed?: (characters: number) => void): Hex {
  for (;;) {
    const { done, value } = hashing.next();
    if (done) return value;
    onHashed?.(value);
  }
}
