// Checks evidence, leaves, payloads and chain proofs against their hashes.
import { createHash } from 'node:crypto';
import { orNull } from '../../../base/or-null.ts';
import type { Hex } from '../../../proof/bytes.ts';
import { leafHash } from '../../../proof/leaf.ts';
import { decodePayload, encodePayload } from '../../../proof/payload.ts';
import { merkleTree } from '../../../proof/tree.ts';
import type { AttemptState } from '../../ports/anchoring.ts';
import { isAnchor, provesPlace } from '../../rules/anchoring.ts';
import {
  RECORDED_ANCHOR_COLUMNS,
  type RecordedAnchorRow,
  toRecordedAnchor,
} from '../anchoring/chain-proofs.ts';
import { pathBytes } from '../anchoring/paths.ts';
import { openProof } from '../evidence.ts';
import { folded, type Invariant, type Snapshot } from './snapshot.ts';

interface ProofRow {
  task_id: string;
  sealed: Buffer;
  key: Buffer;
  proof_hash: string | null;
}

/** `proofs` is the FROM clause that gives the columns of `ProofRow` but the last. */
export function proofsMatchTheirHash(proofs: string): Invariant {
  return async function* ({ scan }) {
    const rows = scan<ProofRow>(
      `SELECT p.task_id, p.sealed, key, c.proof_hash FROM ${proofs}
       LEFT JOIN completions c ON c.task_id = p.task_id`,
    );
    for await (const { task_id, sealed, key, proof_hash } of rows) {
      // Null if it cannot be decrypted.
      if (orNull(() => sha256(openProof(sealed, key))) === proof_hash) continue;
      yield `the evidence of task ${task_id} does not match its proof hash`;
    }
  };
}

function sha256(text: string): string {
  return `0x${createHash('sha256').update(text, 'utf8').digest('hex')}`;
}

/**
 * A leaf with its attempt and the task data it commits to. The task data is null if the task was deleted, and all but
 * the leaf for a free leaf.
 */
interface LeafRow {
  attempt_id: string;
  leaf_index: number;
  leaf: Hex;
  path: Buffer | null;
  settled_at: number | null;
  state: AttemptState;
  payload: Hex;
  root: Hex | null;
  /** Free leaves included. */
  leaf_count: number;
  task_id: string | null;
  robot_id: string | null;
  proof_hash: Hex | null;
  claim_hash: string | null;
  statement_hash: Hex | null;
}

/** Recomputes leaves from task data, and payload, root and paths from leaves. Holds one attempt at a time. */
export async function* payloadsRebuild({ scan }: Snapshot): AsyncGenerator<string> {
  const leaves = scan<LeafRow>(
    `SELECT l.attempt_id, l.leaf_index, l.leaf, l.path, l.settled_at, a.state, a.payload, a.root,
       a.leaf_count + a.free_leaf_count AS leaf_count, l.task_id, t.robot_id, c.proof_hash, c.claim_hash,
       c.statement_hash
     FROM (SELECT attempt_id, leaf_index, leaf, path, settled_at, task_id FROM leaves UNION ALL
       SELECT attempt_id, leaf_index, leaf, NULL, NULL, NULL FROM free_leaves
       WHERE attempt_id IS NOT NULL) l
     JOIN attempts a ON a.id = l.attempt_id
     LEFT JOIN tasks t ON t.id = l.task_id
     LEFT JOIN completions c ON c.task_id = t.id
     WHERE NOT EXISTS (SELECT 1 FROM assignments s WHERE s.attempt_id = l.attempt_id)
     ORDER BY l.attempt_id, l.leaf_index`,
  );
  const attempts = folded(leaves, {
    start: (): LeafRow[] => [],
    isSame: ([first], leaf) => first?.attempt_id === leaf.attempt_id,
    add(attempt, leaf) {
      attempt.push(leaf);
      return attempt;
    },
  });
  for await (const attempt of attempts) {
    for (const violation of violationsOfAttempt(attempt)) yield violation;
  }
  const empty = scan<{ id: string }>(
    'SELECT id FROM attempts a WHERE NOT EXISTS (SELECT 1 FROM leaves l WHERE l.attempt_id = a.id)',
  );
  for await (const { id } of empty) yield `attempt ${id} has no leaves`;
}

/** Yields the violations of one attempt. `leaves` are all its leaves, in order. */
function* violationsOfAttempt(leaves: LeafRow[]): Generator<string> {
  const [first] = leaves;
  if (first === undefined) return;
  const id = first.attempt_id;
  const isWhole = leaves.length === first.leaf_count;
  // The free leaves of a dead attempt have moved on.
  const isReleased = first.state === 'dead' && leaves.length < first.leaf_count;
  if (!(isWhole || isReleased) || leaves.some((leaf, i) => leaf.leaf_index !== i)) {
    yield `attempt ${id} has ${leaves.length} leaves of ${first.leaf_count}, or gaps between them`;
  }
  for (const leaf of leaves) {
    if (!bindsItsTask(leaf))
      yield `leaf ${leaf.leaf_index} of attempt ${id} does not match its task`;
  }
  if (!isReleased && !rebuilds(first, leaves))
    yield `attempt ${id} has a payload, root or path that differs from its leaves`;
}

function bindsItsTask({ leaf, task_id, robot_id, ...hashes }: LeafRow): boolean {
  const { proof_hash, claim_hash, statement_hash } = hashes;
  // The leaf of a deleted task cannot be recomputed: its inputs were deleted with the task.
  if (task_id === null || robot_id === null || proof_hash === null || claim_hash === null) {
    return true;
  }
  return leaf === leafHash({ proof_hash, task_id, robot_id, claim_hash, statement_hash });
}

function rebuilds(first: LeafRow, leaves: LeafRow[]): boolean {
  const { leaf, payload } = first;
  if (leaves.length === 1) {
    const decoded = decodePayload(payload);
    const proof_hash = first.proof_hash ?? (decoded?.kind === 'single' ? decoded.proof_hash : leaf);
    return encodePayload({ kind: 'single', proof_hash, leaf }) === payload && first.root === null;
  }
  const { root, path } = merkleTree(leaves.map((one) => one.leaf));
  return (
    encodePayload({ kind: 'batch', root, leaf_count: leaves.length }) === payload &&
    first.root === root &&
    leaves.every((one, i) => one.settled_at === null || one.path?.equals(pathBytes(path(i))))
  );
}

/** A stored chain proof with the recorded anchor. */
interface StoredProofRow extends RecordedAnchorRow {
  header: Hex;
  nodes: string;
}

/** Header and path lead to the recorded transaction, and that is the anchor. */
export async function* chainProofsLead({ scan }: Snapshot): AsyncGenerator<string> {
  const stored = scan<StoredProofRow>(
    `SELECT ${RECORDED_ANCHOR_COLUMNS}, p.header, p.nodes
     FROM chain_proofs p
     JOIN attempts a ON a.id = p.attempt_id
     JOIN variants v ON v.tx_hash = a.mined_tx_hash
     WHERE p.header IS NOT NULL`,
  );
  for await (const row of stored) {
    const anchor = toRecordedAnchor(row);
    // A damaged column leads nowhere.
    const proof = { header: row.header, nodes: orNull((): Hex[] => JSON.parse(row.nodes)) ?? [] };
    if (provesPlace(anchor, proof) && isAnchor(anchor)) continue;
    yield `the chain proof of attempt ${row.attemptId} does not lead to its transaction`;
  }
}
