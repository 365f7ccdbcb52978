// Commits waiting leaves to one payload: the leaf itself, or the root of their tree.

import type { Hex } from './bytes.ts';
import type { Payload } from './payload.ts';
import { type Inclusion, merkleTree } from './tree.ts';

/** A queued proof: hashes of 32 bytes as hex. */
export interface WaitingLeaf {
  readonly proof_hash: Hex;
  readonly leaf: Hex;
}

/** The result of `commitLeaves`. */
export interface Commitment {
  /** The payload of one transaction for all leaves. */
  readonly payload: Payload;
  /** The inclusion of each leaf, in the given order; null for a single proof. */
  readonly inclusions: readonly (Inclusion | null)[];
}

/**
 * The payload for queued proofs: one proof becomes a single, several become a batch in
 * the given order.
 *
 * @throws RangeError without leaves. TypeError if a leaf is not 32 bytes of hex.
 */
export function commitLeaves(leaves: readonly WaitingLeaf[]): Commitment {
  const [first] = leaves;
  if (first !== undefined && leaves.length === 1) {
    const { proof_hash, leaf } = first;
    return { payload: { kind: 'single', proof_hash, leaf }, inclusions: [null] };
  }
  const { root, path } = merkleTree(leaves.map(({ leaf }) => leaf));
  const leaf_count = leaves.length;
  return {
    payload: { kind: 'batch', root, leaf_count },
    inclusions: leaves.map((_, leaf_index) => ({
      root,
      leaf_index,
      leaf_count,
      path: path(leaf_index),
    })),
  };
}
