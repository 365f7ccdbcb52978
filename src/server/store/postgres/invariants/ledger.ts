// Invariants of ledger, anchoring and records of a PostgreSQL database as SQL statements.

import { type EndedReserveRow, wrongReturns } from '../../invariants/statements.ts';
import type { Queries } from '../engine/connections.ts';
import { type Invariant, scan, selecting } from './scan.ts';

export const ledgerInvariants: Record<string, Invariant> = {
  ledger_sums_equal_balances: selecting(`
    SELECT 'the ledger of ' || l.wallet || ' sums to ' || l.anchors || ' anchors, ' || l.gas_wei || ' wei'
    FROM (SELECT wallet, sum(anchors) AS anchors, sum(gas_wei) AS gas_wei FROM ledger GROUP BY wallet) l
    LEFT JOIN accounts a ON a.wallet = l.wallet
    WHERE a.anchor_quota IS DISTINCT FROM l.anchors OR a.gas_credit_wei <> l.gas_wei`),

  ledger_never_negative: selecting(`
    SELECT 'entry ' || seq || ' took the balance of ' || wallet || ' below zero' FROM (
      SELECT seq, wallet, sum(anchors) OVER w AS anchors, sum(gas_wei) OVER w AS gas_wei
      FROM ledger WINDOW w AS (PARTITION BY wallet ORDER BY seq)) s
    WHERE anchors < 0 OR gas_wei < 0`),

  balances_not_negative: selecting(`
    SELECT 'account ' || wallet || ' has a negative balance' FROM accounts
    WHERE anchor_quota < 0 OR gas_credit_wei < 0`),

  accounts_without_ledger_are_empty: selecting(`
    SELECT 'account ' || wallet || ' has a balance and no ledger' FROM accounts a
    WHERE (anchor_quota <> 0 OR gas_credit_wei <> 0)
      AND NOT EXISTS (SELECT FROM ledger l WHERE l.wallet = a.wallet)`),

  verified_task_is_settled_once: selecting(`
    SELECT 'task ' || t.id || ' is ' || t.status || ' with ' || count(l.seq) || ' settlements'
    FROM tasks t LEFT JOIN ledger l ON l.task_id = t.id AND l.kind = 'settle'
    GROUP BY t.id HAVING count(l.seq) <> (t.status = 'verified')::int`),

  open_reserve_has_its_proof: selecting(`
    SELECT 'reserve ' || r.seq || ' of task ' || r.task_id || ' is open without a proof' FROM ledger r
    WHERE r.kind = 'reserve'
      AND NOT EXISTS (SELECT FROM ledger e WHERE e.task_id = r.task_id AND e.cycle = r.cycle
        AND e.kind IN ('settle', 'release'))
      AND NOT EXISTS (SELECT FROM completions c WHERE c.task_id = r.task_id
        AND c.cycle = r.cycle AND c.state IN ('queued', 'submitted'))
      AND NOT EXISTS (SELECT FROM leaves l WHERE l.task_id = r.task_id AND l.live)`),
};

export async function* chargesFollowCost(tx: Queries): AsyncGenerator<string> {
  const ended = scan<EndedReserveRow>(
    tx,
    `SELECT e.seq, e.kind, e.task_id, e.gas_wei, r.gas_wei AS reserved, l.leaf_index, a.leaf_count,
       a.cost_wei
     FROM ledger e
     JOIN ledger r ON r.task_id = e.task_id AND r.cycle = e.cycle AND r.kind = 'reserve'
     LEFT JOIN (
       SELECT DISTINCT ON (task_id) task_id, attempt_id, leaf_index FROM leaves
       WHERE settled_at IS NOT NULL ORDER BY task_id, generation) l ON l.task_id = e.task_id
     LEFT JOIN attempts a ON a.id = l.attempt_id
     WHERE e.kind IN ('settle', 'release')`,
  );
  for await (const row of ended) yield* wrongReturns(row);
}

export const anchoringInvariants: Record<string, Invariant> = {
  anchored_leaf_is_live: selecting(`
    SELECT 'the leaf of task ' || l.task_id || ' in attempt ' || a.id || ' is mined and not live'
    FROM leaves l JOIN attempts a ON a.id = l.attempt_id AND a.state IN ('included', 'finalized')
    WHERE NOT l.live`),

  one_live_leaf: selecting(`
    SELECT 'task ' || task_id || ' has ' || count(*) || ' live leaves' FROM leaves
    WHERE live GROUP BY task_id HAVING count(*) > 1`),

  live_leaf_follows_state: selecting(`
    SELECT 'task ' || c.task_id || ' is ' || c.state || ', its live attempt ' ||
      coalesce(a.state, 'missing') FROM completions c
    LEFT JOIN leaves l ON l.task_id = c.task_id AND l.live
    LEFT JOIN attempts a ON a.id = l.attempt_id
    WHERE CASE
      WHEN c.state IN ('queued', 'failed') THEN l.task_id IS NOT NULL
      WHEN c.state = 'submitted'
        THEN l.task_id IS NULL OR l.settled_at IS NOT NULL OR a.state = 'dead'
      ELSE l.task_id IS NULL OR l.settled_at IS NULL OR a.state IN ('signed', 'dead')
    END`),

  generation_counts_replaced_nonces: selecting(`
    SELECT 'task ' || c.task_id || ' is in generation ' || c.generation || ' after ' ||
      coalesce(d.deaths, 0) || ' dead attempts'
    FROM completions c LEFT JOIN (
      SELECT l.task_id, count(*) AS deaths FROM leaves l
      JOIN attempts a ON a.id = l.attempt_id AND a.state = 'dead' GROUP BY l.task_id) d
      ON d.task_id = c.task_id
    WHERE c.generation <> coalesce(d.deaths, 0)`),

  receipt_follows_the_live_leaf: selecting(`
    SELECT 'the receipt of task ' || r.task_id || ' names another attempt than the live one'
    FROM receipts r JOIN leaves l ON l.task_id = r.task_id AND l.live
    WHERE l.settled_at IS NOT NULL AND l.attempt_id <> r.attempt_id`),

  safe_attempt_is_mined: selecting(`
    SELECT 'attempt ' || id || ' is safe and ' || state FROM attempts
    WHERE safe AND state NOT IN ('included', 'finalized')`),

  variants_get_dearer: selecting(`
    SELECT 'variant ' || seq || ' of attempt ' || attempt_id || ' has no higher fees than the one before'
    FROM (SELECT attempt_id, seq, max_fee_per_gas AS fee, max_priority_fee_per_gas AS tip,
        bool_or(adopted) OVER w AS adopted, lag(seq) OVER w AS seq_before,
        lag(max_fee_per_gas) OVER w AS fee_before, lag(max_priority_fee_per_gas) OVER w AS tip_before
      FROM variants WINDOW w AS (PARTITION BY attempt_id ORDER BY seq)) v
    WHERE seq <> seq_before + 1 OR (NOT adopted AND (fee <= fee_before OR tip <= tip_before))`),

  dead_attempt_has_no_live_leaf: selecting(`
    SELECT 'attempt ' || a.id || ' is dead and has live leaves' FROM attempts a
    WHERE a.state = 'dead'
      AND EXISTS (SELECT FROM leaves l WHERE l.attempt_id = a.id AND l.live)`),

  unsettled_leaves_are_counted: selecting(`
    SELECT 'attempt ' || a.id || ' counts ' || a.unsettled_leaves || ' unsettled leaves of ' ||
      count(l.attempt_id)
    FROM attempts a LEFT JOIN leaves l ON l.attempt_id = a.id AND l.settled_at IS NULL
    WHERE a.state <> 'dead'
    GROUP BY a.id HAVING count(l.attempt_id) <> a.unsettled_leaves`),
};

/** Invariants of tasks, robots, fleets and the counts that triggers maintain. */
export const recordInvariants: Record<string, Invariant> = {
  deleted_task_is_buried: selecting(`
    SELECT 'task ' || task_id || ' is neither stored nor recorded as deleted'
    FROM (SELECT task_id FROM leaves UNION SELECT task_id FROM ledger WHERE task_id IS NOT NULL) k
    WHERE NOT EXISTS (SELECT FROM tasks t WHERE t.id = k.task_id)
      AND NOT EXISTS (SELECT FROM tombstones b WHERE b.task_id = k.task_id)`),

  buried_task_is_gone: selecting(`
    SELECT 'task ' || t.id || ' is stored and recorded as deleted' FROM tasks t
    JOIN tombstones b ON b.task_id = t.id`),

  counts_are_kept: selecting(`
    SELECT 'the count of robots of ' || a.wallet || ' is wrong' FROM accounts a
    LEFT JOIN robots r ON r.wallet = a.wallet
    GROUP BY a.wallet HAVING count(r.id) <> a.robot_count
    UNION ALL
    SELECT 'the count of fleets of ' || a.wallet || ' is wrong' FROM accounts a
    LEFT JOIN fleets f ON f.wallet = a.wallet
    GROUP BY a.wallet HAVING count(f.id) <> a.fleet_count
    UNION ALL
    SELECT 'the count of tasks with ' || coalesce(h.proof_hash, c.proof_hash) || ' is wrong'
    FROM proof_hashes h
    FULL JOIN (SELECT proof_hash, count(*) AS occurrences FROM completions GROUP BY proof_hash) c
      ON c.proof_hash = h.proof_hash
    WHERE c.occurrences IS DISTINCT FROM h.occurrences
    UNION ALL
    SELECT 'the count of tasks of robot ' || r.id || ' is wrong' FROM robots r
    LEFT JOIN task_counts c ON c.robot_id = r.id
    LEFT JOIN (SELECT robot_id, count(*) FILTER (WHERE status = 'claimed') AS claimed,
        count(*) FILTER (WHERE status = 'verified') AS verified FROM tasks GROUP BY robot_id) t
      ON t.robot_id = r.id
    WHERE coalesce(c.claimed, 0) <> coalesce(t.claimed, 0)
      OR coalesce(c.verified, 0) <> coalesce(t.verified, 0)`),
};
