import { type Invariant, selecting } from './invariant.ts';

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
};
