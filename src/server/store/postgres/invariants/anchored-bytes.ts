import {
  hashOfEvidence,
  type LeafRow,
  violationsOfAttempt,
} from '../../invariants/anchored-bytes.ts';
import type { Queries } from '../connections.ts';
import { scan } from './invariant.ts';

interface ProofRow {
  task_id: string;
  sealed: Buffer;
  key: Buffer;
  proof_hash: string | null;
}

export async function* proofsMatchTheirHash(tx: Queries): AsyncGenerator<string> {
  const proofs = scan<ProofRow>(
    tx,
    `SELECT p.task_id, p.sealed, p.key, c.proof_hash FROM proofs p
     LEFT JOIN completions c ON c.task_id = p.task_id`,
  );
  for await (const { task_id, sealed, key, proof_hash } of proofs) {
    if (hashOfEvidence(sealed, key) === proof_hash) continue;
    yield `the evidence of task ${task_id} does not have its proof hash`;
  }
}

/** Leaves from what they bind, payload, root and paths from the leaves. Holds those of one attempt at a time. */
export async function* payloadsRebuild(tx: Queries): AsyncGenerator<string> {
  const leaves = scan<LeafRow>(
    tx,
    `SELECT l.attempt_id, l.leaf_index, l.leaf, l.path, l.settled_at, a.payload, a.root, a.leaf_count,
       l.task_id, t.robot_id, c.proof_hash, c.claim_hash
     FROM leaves l
     JOIN attempts a ON a.id = l.attempt_id
     LEFT JOIN tasks t ON t.id = l.task_id
     LEFT JOIN completions c ON c.task_id = l.task_id
     ORDER BY l.attempt_id, l.leaf_index`,
  );
  let attempt: LeafRow[] = [];
  for await (const leaf of leaves) {
    if (attempt[0] !== undefined && attempt[0].attempt_id !== leaf.attempt_id) {
      yield* violationsOfAttempt(attempt);
      attempt = [];
    }
    attempt.push(leaf);
  }
  yield* violationsOfAttempt(attempt);
  const empty = scan<{ id: string }>(
    tx,
    'SELECT id FROM attempts a WHERE NOT EXISTS (SELECT FROM leaves l WHERE l.attempt_id = a.id)',
  );
  for await (const { id } of empty) yield `attempt ${id} has no leaves`;
}
