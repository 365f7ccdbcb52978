import { type Invariant, selecting } from './invariant.ts';

export const anchoringInvariants: Record<string, Invariant> = {
  anchored_once: selecting(`
    SELECT 'task ' || l.task_id || ' is anchored in ' || count(*) || ' attempts' FROM leaves l
    JOIN attempts a ON a.id = l.attempt_id AND a.state IN ('included', 'finalized')
    GROUP BY l.task_id HAVING count(*) > 1`),

  anchored_leaf_is_live: selecting(`
    SELECT 'the leaf of task ' || l.task_id || ' in attempt ' || a.id || ' is mined and not live'
    FROM leaves l JOIN attempts a ON a.id = l.attempt_id AND a.state IN ('included', 'finalized')
    WHERE NOT l.live`),

  verified_means_receipt: selecting(`
    SELECT 'task ' || t.id || ' is ' || t.status || ', its completion ' ||
      coalesce(c.state, 'missing') || ', its receipt ' ||
      CASE WHEN r.seq IS NULL THEN 'missing' ELSE 'there' END
    FROM tasks t LEFT JOIN completions c ON c.task_id = t.id LEFT JOIN receipts r ON r.task_id = t.id
    WHERE (t.status = 'verified') <> (r.seq IS NOT NULL)
      OR (t.status = 'verified' AND coalesce(c.state, 'failed') = 'failed')
      OR (t.status = 'claimed' AND c.state = 'included')`),

  completion_states_are_stored_ones: selecting(`
    SELECT 'the completion of task ' || task_id || ' is stored as ' || state FROM completions
    WHERE state NOT IN ('queued', 'submitted', 'included', 'failed')`),

  receipt_matches_mined_variant: selecting(`
    SELECT 'the receipt of task ' || r.task_id || ' does not match its attempt' FROM receipts r
    LEFT JOIN attempts a ON a.id = r.attempt_id
    LEFT JOIN leaves l ON l.attempt_id = r.attempt_id AND l.leaf_index = r.leaf_index
    LEFT JOIN completions c ON c.task_id = r.task_id
    WHERE l.task_id IS DISTINCT FROM r.task_id OR l.settled_at IS NULL
      OR c.proof_hash IS DISTINCT FROM r.proof_hash
      OR NOT EXISTS (SELECT FROM variants v
        WHERE v.tx_hash = a.mined_tx_hash AND v.attempt_id = a.id)`),

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

  generation_counts_deaths: selecting(`
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
    SELECT 'variant ' || seq || ' of attempt ' || attempt_id || ' is no dearer than the one before'
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

  attempt_has_a_variant: selecting(`
    SELECT 'attempt ' || a.id || ' has no variant' FROM attempts a
    WHERE NOT EXISTS (SELECT FROM variants v WHERE v.attempt_id = a.id AND v.seq = 0)`),

  nonces_are_contiguous: selecting(`
    SELECT 'nonce ' || nonce || ' of ' || sender || ' follows ' || before FROM (
      SELECT nonce, sender,
        lag(nonce) OVER (PARTITION BY chain_id, sender ORDER BY nonce) AS before
      FROM (SELECT chain_id, sender, nonce FROM attempts
        UNION SELECT chain_id, sender, nonce FROM foreign_nonces) used) n
    WHERE nonce <> before + 1`),

  attempts_belong_to_the_chain: selecting(`
    SELECT 'attempt ' || a.id || ' is of chain ' || a.chain_id FROM attempts a
    JOIN chain_identity i ON i.chain_id <> a.chain_id`),
};
