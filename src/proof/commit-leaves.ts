// Commits waiting leaves to one payload: the leaf itself, or the root of their tree.

import type { Hex } from './bytes.ts';
import type { Payload } from './payload.ts';
import { type Inclusion, merkleTree } from './tree.ts';

/** A waiting proof as the anchorer sees it: 32 bytes of hex each. */
export interface WaitingLeaf {
  readonly proof_hash: Hex;
  readonly leaf: Hex;
}

/** What `commitLeaves` answers. */
export interface Commitment {
  /** What one transaction carries for all the leaves. */
  readonly payload: Payload;
  /** For each leaf, in the order given, what its receipt carries; null in a single. */
  readonly inclusions: readonly (Inclusion | null)[];
}

/**
 * What to anchor for proofs that waited together: one alone becomes a single, more become a batch, in
 * the order given.
 *
 * @throws RangeError without leaves. TypeError when a leaf is not 32 bytes of hex.
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
