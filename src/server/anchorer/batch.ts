import type { Hex } from '../../proof/bytes.ts';
import { commitLeaves } from '../../proof/commitment.ts';
import { encodePayload } from '../../proof/payload.ts';
import type { NewAttempt, QueuedProof } from '../core/anchor-store.ts';

export interface Batch extends Pick<NewAttempt, 'root' | 'leaves'> {
  payload: Hex;
}

/** Fixes payload, tree and inclusion paths of the proofs, in the order they were queued. */
export function batchOf(queued: readonly QueuedProof[]): Batch {
  const { payload, inclusions } = commitLeaves(
    queued.map(({ proofHash, leaf }) => ({ proof_hash: proofHash, leaf })),
  );
  return {
    payload: encodePayload(payload),
    root: payload.kind === 'batch' ? payload.root : null,
    leaves: queued.map(({ taskId, leaf }, i) => ({
      taskId,
      leaf,
      path: (inclusions[i]?.path ?? []) as Hex[],
    })),
  };
}

/** A single's payload at its dearest, no byte of it being zero: what reservations are quoted for. */
export const dearestSingle: Hex = encodePayload({
  kind: 'single',
  proof_hash: `0x${'ff'.repeat(32)}`,
  leaf: `0x${'ff'.repeat(32)}`,
});
