// Invariants of a SQLite database as SQL statements.

import type { Database } from 'better-sqlite3';
import { statements } from '../../invariants/statements.ts';

/** Yields violations. It reads row by row, so memory does not grow with the database. */
export type Invariant = (db: Database) => Iterable<string>;

/** Invariants by name. Each statement selects the violations, one text per violation. */
export const statedInvariants: Record<string, Invariant> = {
  ...Object.fromEntries(
    Object.entries(statements).map(([name, statement]) => [name, selecting(statement)]),
  ),

  balances_not_negative: selecting(`
    SELECT 'account ' || wallet || ' has a negative balance' FROM accounts
    WHERE anchor_quota < 0 OR gas_credit_wei LIKE '-%'`),

  accounts_without_ledger_are_empty: selecting(`
    SELECT 'account ' || wallet || ' has a balance and no ledger' FROM accounts
    WHERE (anchor_quota <> 0 OR gas_credit_wei <> '0')
      AND wallet NOT IN (SELECT wallet FROM ledger)`),

  verified_task_is_settled_once: selecting(`
    SELECT 'task ' || id || ' is ' || status || ' with ' || settled || ' settlements' FROM (
      SELECT t.id, t.status, (SELECT count(*) FROM ledger l
        WHERE l.task_id = t.id AND l.kind = 'settle') AS settled FROM tasks t)
    WHERE settled <> (status = 'verified')`),

  open_reserve_has_its_proof: selecting(`
    SELECT 'reserve ' || r.seq || ' of task ' || r.task_id || ' is open without a proof' FROM ledger r
    WHERE r.kind = 'reserve'
      AND NOT EXISTS (SELECT 1 FROM ledger e WHERE e.task_id = r.task_id AND e.cycle = r.cycle
        AND e.kind IN ('settle', 'release'))
      AND NOT EXISTS (SELECT 1 FROM completions c WHERE c.task_id = r.task_id
        AND c.cycle = r.cycle AND c.state IN ('queued', 'submitted'))
      AND NOT EXISTS (SELECT 1 FROM leaves l WHERE l.task_id = r.task_id AND l.live = 1)`),

  anchored_leaf_is_live: selecting(`
    SELECT 'the leaf of task ' || l.task_id || ' in attempt ' || a.id || ' is mined and not live'
    FROM leaves l JOIN attempts a ON a.id = l.attempt_id AND a.state IN ('included', 'finalized')
    WHERE l.live = 0`),

  one_live_leaf: selecting(`
    SELECT 'task ' || task_id || ' has ' || count(*) || ' live leaves' FROM leaves
    WHERE live = 1 GROUP BY task_id HAVING count(*) > 1`),

  live_leaf_follows_state: selecting(`
    SELECT 'task ' || c.task_id || ' is ' || c.state || ', its live attempt ' ||
      coalesce(a.state, 'missing') FROM completions c
    LEFT JOIN leaves l ON l.task_id = c.task_id AND l.live = 1
    LEFT JOIN attempts a ON a.id = l.attempt_id
    WHERE CASE
      WHEN c.state IN ('queued', 'failed') THEN l.id IS NOT NULL
      WHEN c.state = 'submitted'
        THEN l.id IS NULL OR l.settled_at IS NOT NULL OR a.state = 'dead'
      ELSE l.id IS NULL OR l.settled_at IS NULL OR a.state IN ('signed', 'dead')
    END`),

  generation_counts_replaced_nonces: selecting(`
    SELECT 'task ' || c.task_id || ' is in generation ' || c.generation || ' after ' || c.deaths ||
      ' dead attempts' FROM (SELECT task_id, generation, (SELECT count(*) FROM leaves l
        JOIN attempts a ON a.id = l.attempt_id AND a.state = 'dead'
        WHERE l.task_id = completions.task_id) AS deaths FROM completions) c
    WHERE c.generation <> c.deaths`),

  receipt_follows_the_live_leaf: selecting(`
    SELECT 'the receipt of task ' || r.task_id || ' names another attempt than the live one'
    FROM receipts r JOIN leaves l ON l.task_id = r.task_id AND l.live = 1
    WHERE l.settled_at IS NOT NULL AND l.attempt_id <> r.attempt_id`),

  safe_attempt_is_mined: selecting(`
    SELECT 'attempt ' || id || ' is safe and ' || state FROM attempts
    WHERE safe = 1 AND state NOT IN ('included', 'finalized')`),

  variants_get_dearer: selecting(`
    SELECT 'variant ' || seq || ' of attempt ' || attempt_id || ' has no higher fees than the one before'
    FROM (SELECT attempt_id, seq,
        CAST(max_fee_per_gas AS INTEGER) AS fee, CAST(max_priority_fee_per_gas AS INTEGER) AS tip,
        max(adopted) OVER w AS adopted, lag(seq) OVER w AS seq_before,
        lag(CAST(max_fee_per_gas AS INTEGER)) OVER w AS fee_before,
        lag(CAST(max_priority_fee_per_gas AS INTEGER)) OVER w AS tip_before
      FROM variants WINDOW w AS (PARTITION BY attempt_id ORDER BY seq))
    WHERE seq <> seq_before + 1 OR (adopted = 0 AND (fee <= fee_before OR tip <= tip_before))`),

  dead_attempt_has_no_live_leaf: selecting(`
    SELECT 'attempt ' || a.id || ' is dead and has live leaves' FROM attempts a
    WHERE a.state = 'dead'
      AND EXISTS (SELECT 1 FROM leaves l WHERE l.attempt_id = a.id AND l.live = 1)`),

  unsettled_leaves_are_counted: selecting(`
    SELECT 'attempt ' || id || ' counts ' || unsettled_leaves || ' unsettled leaves of ' || unsettled
    FROM (SELECT a.id, a.unsettled_leaves, a.state, (SELECT count(*) FROM leaves l
      WHERE l.attempt_id = a.id AND l.settled_at IS NULL) AS unsettled FROM attempts a)
    WHERE unsettled <> unsettled_leaves AND state <> 'dead'`),

  deleted_task_is_buried: selecting(`
    SELECT 'task ' || task_id || ' is neither stored nor recorded as deleted'
    FROM (SELECT task_id FROM leaves UNION SELECT task_id FROM ledger WHERE task_id IS NOT NULL)
    WHERE task_id NOT IN (SELECT id FROM tasks)
      AND task_id NOT IN (SELECT task_id FROM tombstones)`),

  buried_task_is_gone: selecting(`
    SELECT 'task ' || id || ' is stored and recorded as deleted' FROM tasks
    WHERE id IN (SELECT task_id FROM tombstones)`),

  key_of_erased_evidence_is_gone: selecting(`
    SELECT 'key ' || id || ' exists without its evidence' FROM proof_keys
    WHERE key <> zeroblob(32) AND id NOT IN (SELECT key_id FROM proofs)`),

  counts_are_kept: selecting(`
    SELECT 'the count of challenges is wrong' FROM challenge_count
    WHERE total <> (SELECT count(*) FROM challenges)
    UNION ALL
    SELECT 'the count of tasks with ' || proof_hash || ' is wrong' FROM proof_hashes h
    WHERE occurrences <> (SELECT count(*) FROM completions c WHERE c.proof_hash = h.proof_hash)
    UNION ALL
    SELECT 'tasks with ' || proof_hash || ' are not counted' FROM completions
    WHERE proof_hash NOT IN (SELECT proof_hash FROM proof_hashes)
    UNION ALL
    SELECT 'the count of tasks of robot ' || r.id || ' is wrong' FROM robots r
    LEFT JOIN task_counts c ON c.robot_id = r.id
    WHERE coalesce(c.claimed, 0) <>
        (SELECT count(*) FROM tasks t WHERE t.robot_id = r.id AND t.status = 'claimed')
      OR coalesce(c.verified, 0) <>
        (SELECT count(*) FROM tasks t WHERE t.robot_id = r.id AND t.status = 'verified')`),
};

function selecting(sql: string): Invariant {
  return (db) => db.prepare<[], string>(sql).pluck().iterate();
}
