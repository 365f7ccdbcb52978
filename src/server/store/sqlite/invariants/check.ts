// Checks the invariants of a SQLite database.

import type { Database } from 'better-sqlite3';
import {
  STORED_PROOFS,
  type StoredProofRow,
  violationOfProof,
} from '../../invariants/chain-proofs.ts';
import { hashOfEvidence, type LeafRow, violationsOfAttempt } from '../../invariants/evidence.ts';
import { chargesFollowCost, ledgerNeverNegative, ledgerSumsEqualBalances } from './ledger.ts';
import { type Invariant, statedInvariants } from './records.ts';
import {
  activityCoversRobots,
  anchorDaysFollowLedger,
  fleetsWithinAccounts,
  rollupsFollowSamples,
} from './roll-ups.ts';

const computed: Record<string, Invariant> = {
  file_is_sound: fileIsSound,
  ledger_sums_equal_balances: ledgerSumsEqualBalances,
  ledger_never_negative: ledgerNeverNegative,
  charges_follow_cost: chargesFollowCost,
  anchor_days_follow_ledger: anchorDaysFollowLedger,
  fleets_within_accounts: fleetsWithinAccounts,
  activity_covers_robots: activityCoversRobots,
  rollups_follow_samples: rollupsFollowSamples,
  proofs_match_their_hash: proofsMatchTheirHash,
  payloads_rebuild_from_leaves: payloadsRebuild,
  chain_proofs_lead_to_transactions: chainProofsLead,
};

/** Violations reported in full, per invariant. */
const MAX_REPORTED = 20;

/** Checks one snapshot of the database. Returns only the violated invariants. */
export function checkInvariants(db: Database): { invariant: string; violations: string[] }[] {
  const invariants = { ...computed, ...statedInvariants };
  return db.transaction(() =>
    Object.entries(invariants)
      .map(([invariant, violationsIn]) => ({ invariant, violations: report(violationsIn(db)) }))
      .filter(({ violations }) => violations.length > 0),
  )();
}

function report(violations: Iterable<string>): string[] {
  const first: string[] = [];
  let more = 0;
  for (const violation of violations) {
    if (first.length < MAX_REPORTED) first.push(violation);
    else more += 1;
  }
  return more === 0 ? first : [...first, `and ${more} more`];
}

function* fileIsSound(db: Database): Generator<string> {
  for (const verdict of db.prepare<[], string>('PRAGMA integrity_check').pluck().iterate()) {
    if (verdict !== 'ok') yield verdict;
  }
  const orphans = db.prepare<[], { table: string; parent: string }>('PRAGMA foreign_key_check');
  for (const { table, parent } of orphans.iterate()) {
    yield `a row of ${table} has no row in ${parent}`;
  }
}

interface ProofRow {
  task_id: string;
  sealed: Buffer;
  key: Buffer;
  proof_hash: string;
}

function* proofsMatchTheirHash(db: Database): Generator<string> {
  const proofs = db.prepare<[], ProofRow>(
    `SELECT p.task_id, p.sealed, k.key, c.proof_hash FROM proofs p
     JOIN proof_keys k ON k.id = p.key_id
     LEFT JOIN completions c ON c.task_id = p.task_id`,
  );
  for (const { task_id, sealed, key, proof_hash } of proofs.iterate()) {
    if (hashOfEvidence(sealed, key) === proof_hash) continue;
    yield `the evidence of task ${task_id} does not match its proof hash`;
  }
}

/** Recomputes leaves from task data, and payload, root and paths from leaves. Holds one attempt at a time. */
function* payloadsRebuild(db: Database): Generator<string> {
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

function* chainProofsLead(db: Database): Generator<string> {
  for (const row of db.prepare<[], StoredProofRow>(STORED_PROOFS).iterate()) {
    yield* violationOfProof(row);
  }
}
