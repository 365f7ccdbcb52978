// Checks the invariants of a PostgreSQL database.

import {
  STORED_PROOFS,
  type StoredProofRow,
  violationOfProof,
} from '../../invariants/chain-proofs.ts';
import { hashOfEvidence, type LeafRow, violationsOfAttempt } from '../../invariants/evidence.ts';
import { statements } from '../../invariants/statements.ts';
import type { Queries } from '../engine/connections.ts';
import type { Access } from '../engine/transactions.ts';
import {
  anchoringInvariants,
  chargesFollowCost,
  ledgerInvariants,
  recordInvariants,
} from './ledger.ts';
import { activityInvariants, rollupsFollowSamples } from './roll-ups.ts';
import { extendTimeout, type Invariant, scan, selecting } from './scan.ts';

const invariants: Record<string, Invariant> = {
  ...Object.fromEntries(
    Object.entries(statements).map(([name, statement]) => [name, selecting(statement)]),
  ),
  ...ledgerInvariants,
  charges_follow_cost: chargesFollowCost,
  ...activityInvariants,
  rollups_follow_samples: rollupsFollowSamples,
  proofs_match_their_hash: proofsMatchTheirHash,
  payloads_rebuild_from_leaves: payloadsRebuild,
  chain_proofs_lead_to_transactions: chainProofsLead,
  ...anchoringInvariants,
  ...recordInvariants,
};

/** Violations reported in full, per invariant. */
const MAX_REPORTED = 20;

interface Finding {
  invariant: string;
  violations: string[];
}

/** Checks one snapshot of the database. Returns only the violated invariants. */
export function checkInvariants(access: Access): Promise<Finding[]> {
  return access.read(async (tx) => {
    await extendTimeout(tx);
    const findings: Finding[] = [];
    for (const [invariant, violationsIn] of Object.entries(invariants)) {
      const violations = await report(violationsIn(tx));
      if (violations.length > 0) findings.push({ invariant, violations });
    }
    return findings;
  });
}

async function report(violations: AsyncIterable<string>): Promise<string[]> {
  const first: string[] = [];
  let more = 0;
  for await (const violation of violations) {
    if (first.length < MAX_REPORTED) first.push(violation);
    else more += 1;
  }
  return more === 0 ? first : [...first, `and ${more} more`];
}

interface ProofRow {
  task_id: string;
  sealed: Buffer;
  key: Buffer;
  proof_hash: string | null;
}

async function* proofsMatchTheirHash(tx: Queries): AsyncGenerator<string> {
  const proofs = scan<ProofRow>(
    tx,
    `SELECT p.task_id, p.sealed, p.key, c.proof_hash FROM proofs p
     LEFT JOIN completions c ON c.task_id = p.task_id`,
  );
  for await (const { task_id, sealed, key, proof_hash } of proofs) {
    if (hashOfEvidence(sealed, key) === proof_hash) continue;
    yield `the evidence of task ${task_id} does not match its proof hash`;
  }
}

/** Recomputes leaves from task data, and payload, root and paths from leaves. Holds one attempt at a time. */
async function* payloadsRebuild(tx: Queries): AsyncGenerator<string> {
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

async function* chainProofsLead(tx: Queries): AsyncGenerator<string> {
  for await (const row of scan<StoredProofRow>(tx, STORED_PROOFS)) yield* violationOfProof(row);
}
