// SHA-256 hashes of evidence and claims.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, type Hex } from './bytes.ts';
import { canonicalPieces } from './canonical-json.ts';
import type { JsonObject, Proof } from './json-value.ts';
import { runSteps } from './run-steps.ts';
import { encodeUtf8 } from './utf8.ts';

/** The members of a task that the anchor commits to in addition to the proof. Absent members count as null. */
export interface ClaimContent {
  readonly created_at: string;
  readonly description?: string | null;
  readonly expected_result?: JsonObject | null;
  readonly occurred_at?: string | null;
  readonly title: string;
}

/**
 * `SHA-256(JCS(proof))`. The canonical text is never in memory as a whole. `onHashed` is called from time to time
 * with the number of characters hashed so far.
 *
 * @throws TypeError if `proof` contains anything but JSON values (see `canonicalJson`).
 */
export function hashProof(proof: Proof, onHashed?: (characters: number) => void): Hex {
  return runSteps(hashInPieces(proof), onHashed);
}

/**
 * `SHA-256(JCS({ created_at, description, expected_result, occurred_at, title }))`. Other members of
 * the argument are ignored.
 *
 * @throws TypeError if `expected_result` contains anything but JSON values.
 */
export function hashClaim(claim: ClaimContent): Hex {
  return runSteps(hashClaimInPieces(claim));
}

/** As `hashClaim`, in steps. */
export function hashClaimInPieces(claim: ClaimContent): Generator<number, Hex> {
  return hashInPieces({
    created_at: claim.created_at,
    description: claim.description ?? null,
    expected_result: claim.expected_result ?? null,
    occurred_at: claim.occurred_at ?? null,
    title: claim.title,
  });
}

/** The hash of a text from `canonicalJson`, for callers that also need the text. */
export function hashCanonicalText(text: string): Hex {
  return bytesToHex(sha256(encodeUtf8(text)));
}

/** Yields the number of characters of the canonical text hashed so far. */
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
