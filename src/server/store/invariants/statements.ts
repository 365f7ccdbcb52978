// Invariants of ledger, completions and attempts as SQL that runs on both databases.

import { chargeOf } from '../../rules/credits.ts';

/** Invariants by name. Each statement selects the violations, one text per violation. */
export const statements: Readonly<Record<string, string>> = {
  settle_and_release_need_their_reserve: `
    SELECT l.kind || ' ' || l.seq || ' of task ' || l.task_id || ' has no reserve' FROM ledger l
    WHERE l.kind IN ('settle', 'release') AND NOT EXISTS (
      SELECT 1 FROM ledger r WHERE r.task_id = l.task_id AND r.cycle = l.cycle
        AND r.kind = 'reserve' AND r.wallet = l.wallet AND r.seq < l.seq)`,

  reserve_ends_once: `
    SELECT 'task ' || s.task_id || ' was settled and released in cycle ' || s.cycle FROM ledger s
    JOIN ledger r ON r.task_id = s.task_id AND r.cycle = s.cycle AND r.kind = 'release'
    WHERE s.kind = 'settle'`,

  failed_cycle_is_released: `
    SELECT 'cycle ' || r.cycle || ' of task ' || r.task_id || ' failed and was not released'
    FROM ledger r JOIN completions c ON c.task_id = r.task_id
    WHERE r.kind = 'reserve' AND (r.cycle < c.cycle OR c.state = 'failed') AND NOT EXISTS (
      SELECT 1 FROM ledger f
      WHERE f.task_id = r.task_id AND f.cycle = r.cycle AND f.kind = 'release')`,

  open_cycle_is_only_reserved: `
    SELECT 'task ' || c.task_id || ' is ' || c.state || ' and has a ' || l.kind FROM completions c
    JOIN ledger l ON l.task_id = c.task_id AND l.cycle = c.cycle AND l.kind <> 'reserve'
    JOIN tasks t ON t.id = c.task_id AND t.status = 'claimed'
    WHERE c.state <> 'failed'`,

  completion_has_its_reserve: `
    SELECT 'task ' || c.task_id || ' refers to a reserve of another task or cycle' FROM completions c
    LEFT JOIN ledger l ON l.seq = c.reserve_seq
    WHERE l.kind IS DISTINCT FROM 'reserve' OR l.task_id <> c.task_id OR l.cycle <> c.cycle`,

  settled_leaf_is_in_the_ledger: `
    SELECT 'leaf ' || l.leaf_index || ' of attempt ' || l.attempt_id || ' has no settlement in the ledger'
    FROM leaves l WHERE l.settled_at IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM ledger e WHERE e.task_id = l.task_id AND e.kind = 'settle')`,

  anchored_once: `
    SELECT 'task ' || l.task_id || ' is anchored in ' || count(*) || ' attempts' FROM leaves l
    JOIN attempts a ON a.id = l.attempt_id AND a.state IN ('included', 'finalized')
    GROUP BY l.task_id HAVING count(*) > 1`,

  verified_means_receipt: `
    SELECT 'task ' || t.id || ' is ' || t.status || ', its completion ' ||
      coalesce(c.state, 'missing') || ', its receipt ' ||
      CASE WHEN r.seq IS NULL THEN 'missing' ELSE 'there' END
    FROM tasks t LEFT JOIN completions c ON c.task_id = t.id LEFT JOIN receipts r ON r.task_id = t.id
    WHERE (t.status = 'verified') <> (r.seq IS NOT NULL)
      OR (t.status = 'verified' AND coalesce(c.state, 'failed') = 'failed')
      OR (t.status = 'claimed' AND c.state = 'included')`,

  completion_states_are_stored_ones: `
    SELECT 'the completion of task ' || task_id || ' is stored as ' || state FROM completions
    WHERE state NOT IN ('queued', 'submitted', 'included', 'failed')`,

  receipt_matches_mined_variant: `
    SELECT 'the receipt of task ' || r.task_id || ' does not match its attempt' FROM receipts r
    LEFT JOIN attempts a ON a.id = r.attempt_id
    LEFT JOIN leaves l ON l.attempt_id = r.attempt_id AND l.leaf_index = r.leaf_index
    LEFT JOIN completions c ON c.task_id = r.task_id
    WHERE l.task_id IS DISTINCT FROM r.task_id OR l.settled_at IS NULL
      OR c.proof_hash IS DISTINCT FROM r.proof_hash
      OR NOT EXISTS (SELECT 1 FROM variants v
        WHERE v.tx_hash = a.mined_tx_hash AND v.attempt_id = a.id)`,

  attempt_has_a_variant: `
    SELECT 'attempt ' || a.id || ' has no variant' FROM attempts a
    WHERE NOT EXISTS (SELECT 1 FROM variants v WHERE v.attempt_id = a.id AND v.seq = 0)`,

  nonces_are_contiguous: `
    SELECT 'nonce ' || nonce || ' of ' || sender || ' follows ' || before FROM (
      SELECT nonce, sender,
        lag(nonce) OVER (PARTITION BY chain_id, sender ORDER BY nonce) AS before
      FROM (SELECT chain_id, sender, nonce FROM attempts
        UNION SELECT chain_id, sender, nonce FROM foreign_nonces) used) n
    WHERE nonce <> before + 1`,

  attempts_belong_to_the_chain: `
    SELECT 'attempt ' || a.id || ' is of chain ' || a.chain_id FROM attempts a
    JOIN chain_identity i ON i.chain_id <> a.chain_id`,

  anchors_end_at_the_last_block: `
    SELECT 'attempt ' || a.id || ' is in block ' || a.mined_block_number || ', after the last block '
      || l.last_block || ' of ' || a.sender
    FROM anchoring_accounts l JOIN attempts a ON a.chain_id = l.chain_id AND a.sender = l.address
    WHERE a.state IN ('included', 'finalized') AND a.mined_block_number > l.last_block`,

  final_attempt_is_due_or_proven: `
    SELECT 'attempt ' || coalesce(a.id, p.attempt_id) || ' is ' || coalesce(a.state, 'missing') ||
      CASE WHEN p.attempt_id IS NULL THEN ' without' ELSE ' with' END || ' a row for its chain proof'
    FROM attempts a FULL JOIN chain_proofs p ON p.attempt_id = a.id
    WHERE (coalesce(a.state, '') = 'finalized') <> (p.attempt_id IS NOT NULL)`,

  robot_is_in_a_fleet_of_its_account: `
    SELECT 'robot ' || r.id || ' is in fleet ' || r.fleet_id || ', which is not its account''s'
    FROM robots r LEFT JOIN fleets f ON f.id = r.fleet_id AND f.wallet = r.wallet
    WHERE r.fleet_id IS NOT NULL AND f.id IS NULL`,
};

/** The ledger entry that ended a reservation, the reserved amount, and the first settled leaf of the task. */
export interface EndedReserveRow {
  seq: number;
  kind: 'settle' | 'release';
  task_id: string;
  gas_wei: string;
  reserved: string;
  leaf_index: number | null;
  leaf_count: number | null;
  cost_wei: string | null;
}

/** Violations of one entry: a release returns the whole reservation, a settlement all but the leaf's charge. */
export function wrongReturns(row: EndedReserveRow): string[] {
  const reservedWei = -BigInt(row.reserved);
  const charge = row.kind === 'release' ? 0n : chargeOfRow(row, reservedWei);
  if (charge !== null && BigInt(row.gas_wei) === reservedWei - charge) return [];
  return [
    `${row.kind} ${row.seq} of task ${row.task_id} returns ${row.gas_wei} of ${reservedWei} wei`,
  ];
}

function chargeOfRow(row: EndedReserveRow, reservedWei: bigint): bigint | null {
  const { leaf_index: index, leaf_count: count, cost_wei: cost } = row;
  if (index === null || count === null || cost === null) return null;
  return chargeOf(BigInt(cost), { index, count, reservedWei });
}
