// Builds the payload of a batch: a single leaf or the root of a tree.
import { runYielding } from '../../base/cooperative-yield.ts';
import type { Hex } from '../../proof/bytes.ts';
import { encodePayload } from '../../proof/payload.ts';
import { growMerkleTree } from '../../proof/tree.ts';
import type { NewAttempt, QueuedProof } from '../ports/anchoring.ts';

export interface Batch extends Pick<NewAttempt, 'root' | 'leaves'> {
  payload: Hex;
}

/** Builds payload and tree from proofs in queue order. A lone proof becomes a single. */
export async function batchOf(queued: readonly QueuedProof[]): Promise<Batch> {
  const leaves = queued.map(({ taskId, leaf }) => ({ taskId, leaf }));
  const [first] = queued;
  if (first !== undefined && queued.length === 1) {
    const { proofHash: proof_hash, leaf } = first;
    return { payload: encodePayload({ kind: 'single', proof_hash, leaf }), root: null, leaves };
  }
  const { root } = await runYielding(growMerkleTree(leaves.map(({ leaf }) => leaf)));
  const payload = encodePayload({ kind: 'batch', root, leaf_count: leaves.length });
  return { payload, root, leaves };
}

/** Length of a payload in bytes. */
export function bytesOf(payload: Hex): number {
  return (payload.length - 2) / 2;
}

/** The most expensive payload of a single: no byte of it is zero. Reservations are quoted for it. */
export const dearestSingle: Hex = encodePayload({
  kind: 'single',
  proof_hash: `0x${'ff'.repeat(32)}`,
  leaf: `0x${'ff'.repeat(32)}`,
});
