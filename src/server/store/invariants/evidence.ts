// Checks evidence, leaves and payloads against their hashes, for both stores.

import { createHash } from 'node:crypto';
import type { Hex } from '../../../proof/bytes.ts';
import { commitLeaves } from '../../../proof/commit-leaves.ts';
import { leafHash } from '../../../proof/leaf.ts';
import { decodePayload, encodePayload } from '../../../proof/payload.ts';
import { openProof } from '../rows/evidence.ts';

/** The SHA-256 of the evidence as `0x…`; `null` if it cannot be decrypted. */
export function hashOfEvidence(sealed: Buffer, key: Buffer): string | null {
  try {
    return `0x${createHash('sha256').update(openProof(sealed, key), 'utf8').digest('hex')}`;
  } catch {
    return null;
  }
}

/** A leaf with its attempt and the task data it commits to; the task data is null if the task was deleted. */
export interface LeafRow {
  attempt_id: string;
  leaf_index: number;
  leaf: Hex;
  path: string;
  settled_at: number | null;
  payload: Hex;
  root: Hex | null;
  leaf_count: number;
  task_id: string;
  robot_id: string | null;
  proof_hash: Hex | null;
  claim_hash: string | null;
}

/** Yields the violations of one attempt. `leaves` are all its leaves, in order. */
export function* violationsOfAttempt(leaves: LeafRow[]): Generator<string> {
  const [first] = leaves;
  if (first === undefined) return;
  const id = first.attempt_id;
  if (leaves.length !== first.leaf_count || leaves.some((leaf, i) => leaf.leaf_index !== i)) {
    yield `attempt ${id} has ${leaves.length} leaves of ${first.leaf_count}, or gaps between them`;
  }
  for (const leaf of leaves) {
    if (!bindsItsTask(leaf))
      yield `leaf ${leaf.leaf_index} of attempt ${id} does not match its task`;
  }
  if (!rebuilds(first, leaves))
    yield `attempt ${id} has a payload, root or path that differs from its leaves`;
}

function bindsItsTask({ leaf, task_id, robot_id, proof_hash, claim_hash }: LeafRow): boolean {
  // The leaf of a deleted task cannot be recomputed: its inputs were deleted with the task.
  if (robot_id === null || proof_hash === null || claim_hash === null) return true;
  return leaf === leafHash({ proof_hash, task_id, robot_id, claim_hash });
}

function rebuilds(first: LeafRow, leaves: LeafRow[]): boolean {
  const payload = decodePayload(first.payload);
  const { payload: rebuilt, inclusions } = commitLeaves(
    leaves.map(({ leaf, proof_hash }) => ({
      leaf,
      proof_hash: proof_hash ?? (payload?.kind === 'single' ? payload.proof_hash : leaf),
    })),
  );
  return (
    encodePayload(rebuilt) === first.payload &&
    first.root === (rebuilt.kind === 'batch' ? rebuilt.root : null) &&
    leaves.every(
      ({ settled_at, path }, i) =>
        settled_at === null || path === JSON.stringify(inclusions[i]?.path ?? []),
    )
  );
}
