import { createHash } from 'node:crypto';
import type { Database } from 'better-sqlite3';
import type { Hex } from '../../../../proof/bytes.ts';
import { commitLeaves } from '../../../../proof/commitment.ts';
import { leafHash } from '../../../../proof/leaf.ts';
import { decodePayload, encodePayload } from '../../../../proof/payload.ts';
import { openProof } from '../../proof-cipher.ts';

interface ProofRow {
  task_id: string;
  sealed: Buffer;
  key: Buffer;
  proof_hash: string;
}

export function* proofsMatchTheirHash(db: Database): Generator<string> {
  const proofs = db.prepare<[], ProofRow>(
    `SELECT p.task_id, p.sealed, k.key, c.proof_hash FROM proofs p
     JOIN proof_keys k ON k.id = p.key_id
     LEFT JOIN completions c ON c.task_id = p.task_id`,
  );
  for (const { task_id, sealed, key, proof_hash } of proofs.iterate()) {
    if (hashOf(sealed, key) === proof_hash) continue;
    yield `the evidence of task ${task_id} does not have its proof hash`;
  }
}

/** Null where the evidence cannot be opened. */
function hashOf(sealed: Buffer, key: Buffer): string | null {
  try {
    return `0x${createHash('sha256').update(openProof(sealed, key), 'utf8').digest('hex')}`;
  } catch {
    return null;
  }
}

interface LeafRow {
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

/** Leaves from what they bind, payload, root and paths from the leaves. */
export function* payloadsRebuild(db: Database): Generator<string> {
  const leaves = db.prepare<[], LeafRow>(
    `SELECT l.attempt_id, l.leaf_index, l.leaf, l.path, l.settled_at, a.payload, a.root, a.leaf_count, l.task_id,
       t.robot_id, c.proof_hash, c.claim_hash
     FROM leaves l
     JOIN attempts a ON a.id = l.attempt_id
     LEFT JOIN tasks t ON t.id = l.task_id
     LEFT JOIN completions c ON c.task_id = l.task_id
     ORDER BY l.attempt_id, l.leaf_index`,
  );
  let attempt: LeafRow[] = [];
  for (const leaf of leaves.iterate()) {
    if (attempt[0] !== undefined && attempt[0].attempt_id !== leaf.attempt_id) {
      yield* violationsOf(attempt);
      attempt = [];
    }
    attempt.push(leaf);
  }
  yield* violationsOf(attempt);
  const empty = db.prepare<[], string>(
    'SELECT id FROM attempts WHERE id NOT IN (SELECT attempt_id FROM leaves)',
  );
  for (const id of empty.pluck().iterate()) yield `attempt ${id} has no leaves`;
}

function* violationsOf(leaves: LeafRow[]): Generator<string> {
  const [first] = leaves;
  if (first === undefined) return;
  const id = first.attempt_id;
  if (leaves.length !== first.leaf_count || leaves.some((leaf, i) => leaf.leaf_index !== i)) {
    yield `attempt ${id} has ${leaves.length} leaves of ${first.leaf_count}, or gaps between them`;
  }
  for (const leaf of leaves) {
    if (!bindsItsTask(leaf)) yield `leaf ${leaf.leaf_index} of attempt ${id} is not its task's`;
  }
  if (!rebuilds(first, leaves)) yield `attempt ${id} has another payload, root or path`;
}

function bindsItsTask({ leaf, task_id, robot_id, proof_hash, claim_hash }: LeafRow): boolean {
  // A deleted task took with it what the leaf was made of.
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
