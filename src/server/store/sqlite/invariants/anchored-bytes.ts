import type { Database } from 'better-sqlite3';
import {
  hashOfEvidence,
  type LeafRow,
  violationsOfAttempt,
} from '../../invariants/anchored-bytes.ts';

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
    if (hashOfEvidence(sealed, key) === proof_hash) continue;
    yield `the evidence of task ${task_id} does not have its proof hash`;
  }
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
      yield* violationsOfAttempt(attempt);
      attempt = [];
    }
    attempt.push(leaf);
  }
  yield* violationsOfAttempt(attempt);
  const empty = db.prepare<[], string>(
    'SELECT id FROM attempts WHERE id NOT IN (SELECT attempt_id FROM leaves)',
  );
  for (const id of empty.pluck().iterate()) yield `attempt ${id} has no leaves`;
}
