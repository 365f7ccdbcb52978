// Invariants as SQL that runs on both databases.

/** The leaves of the leaf `l`'s attempt are on their way back to the queue, or the attempt is not signed yet. */
const IS_RETURNING = 'EXISTS (SELECT 1 FROM assignments s WHERE s.attempt_id = l.attempt_id)';

/** Invariants by name. Each statement selects the violations, one text per violation. */
export const statements: Readonly<Record<string, string>> = {
  balances_not_negative: `
    SELECT 'account ' || wallet || ' has a negative balance' FROM accounts
    WHERE anchor_quota < 0 OR CAST(gas_credit_wei AS text) LIKE '-%'`,

  accounts_without_ledger_are_empty: `
    SELECT 'account ' || wallet || ' has a balance and no ledger' FROM accounts a
    WHERE (anchor_quota <> 0 OR CAST(gas_credit_wei AS text) <> '0')
      AND NOT EXISTS (SELECT 1 FROM ledger l WHERE l.wallet = a.wallet)`,

  verified_task_is_settled_once: `
    SELECT 'task ' || t.id || ' is ' || t.status || ' with ' || count(l.seq) || ' settlements'
    FROM tasks t LEFT JOIN ledger l ON l.task_id = t.id AND l.kind = 'settle'
    GROUP BY t.id HAVING count(l.seq) <> CASE t.status WHEN 'verified' THEN 1 ELSE 0 END`,

  open_reserve_has_its_proof: `
    SELECT 'reserve ' || r.seq || ' of task ' || r.task_id || ' is open without a proof' FROM ledger r
    WHERE r.kind = 'reserve'
      AND NOT EXISTS (SELECT 1 FROM ledger e WHERE e.task_id = r.task_id AND e.cycle = r.cycle
        AND e.kind = 'settle')
      AND NOT EXISTS (SELECT 1 FROM ledger e WHERE e.task_id = r.task_id AND e.cycle = r.cycle
        AND e.kind = 'release')
      AND NOT EXISTS (SELECT 1 FROM completions c WHERE c.task_id = r.task_id
        AND c.cycle = r.cycle AND c.state IN ('queued', 'submitted'))
      AND NOT EXISTS (SELECT 1 FROM leaves l WHERE l.task_id = r.task_id AND l.live)`,

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

  anchored_leaf_is_live: `
    SELECT 'the leaf of task ' || l.task_id || ' in attempt ' || a.id || ' is mined and not live'
    FROM leaves l JOIN attempts a ON a.id = l.attempt_id AND a.state IN ('included', 'finalized')
    WHERE NOT l.live`,

  one_live_leaf: `
    SELECT 'task ' || task_id || ' has ' || count(*) || ' live leaves' FROM leaves
    WHERE live GROUP BY task_id HAVING count(*) > 1`,

  live_leaf_follows_state: `
    SELECT 'task ' || c.task_id || ' is ' || c.state || ', its live attempt ' ||
      coalesce(a.state, 'missing') FROM completions c
    LEFT JOIN leaves l ON l.task_id = c.task_id AND l.live
    LEFT JOIN attempts a ON a.id = l.attempt_id
    WHERE CASE
      WHEN c.state IN ('queued', 'failed') THEN l.task_id IS NOT NULL
      WHEN c.state = 'submitted'
        THEN l.task_id IS NULL OR l.settled_at IS NOT NULL OR a.state = 'dead'
      ELSE l.task_id IS NULL OR l.settled_at IS NULL OR a.state IN ('signed', 'dead')
    END AND NOT (a.state = 'dead' AND ${IS_RETURNING})`,

  generation_counts_replaced_nonces: `
    SELECT 'task ' || c.task_id || ' is in generation ' || c.generation || ' after ' ||
      coalesce(d.deaths, 0) || ' dead attempts'
    FROM completions c LEFT JOIN (
      SELECT l.task_id, count(*) AS deaths FROM leaves l
      JOIN attempts a ON a.id = l.attempt_id AND a.state = 'dead' AND NOT l.live GROUP BY l.task_id) d
      ON d.task_id = c.task_id
    WHERE c.generation <> coalesce(d.deaths, 0)`,

  receipt_follows_the_live_leaf: `
    SELECT 'the receipt of task ' || r.task_id || ' names another attempt than the live one'
    FROM receipts r JOIN leaves l ON l.task_id = r.task_id AND l.live
    WHERE l.settled_at IS NOT NULL AND l.attempt_id <> r.attempt_id`,

  safe_attempt_is_mined: `
    SELECT 'attempt ' || id || ' is safe and ' || state FROM attempts
    WHERE safe AND state NOT IN ('included', 'finalized')`,

  variants_get_dearer: `
    SELECT 'variant ' || seq || ' of attempt ' || attempt_id || ' has no higher fees than the one before'
    FROM (SELECT attempt_id, seq, fee, tip,
        max(CASE WHEN adopted THEN 1 ELSE 0 END) OVER w AS adopted, lag(seq) OVER w AS seq_before,
        lag(fee) OVER w AS fee_before, lag(tip) OVER w AS tip_before
      FROM (SELECT attempt_id, seq, adopted, CAST(max_fee_per_gas AS numeric) AS fee,
        CAST(max_priority_fee_per_gas AS numeric) AS tip FROM variants) f
      WINDOW w AS (PARTITION BY attempt_id ORDER BY seq)) v
    WHERE seq <> seq_before + 1 OR (adopted = 0 AND (fee <= fee_before OR tip <= tip_before))`,

  dead_attempt_has_no_live_leaf: `
    SELECT 'attempt ' || a.id || ' is dead and has live leaves' FROM attempts a
    WHERE a.state = 'dead'
      AND EXISTS (SELECT 1 FROM leaves l WHERE l.attempt_id = a.id AND l.live AND NOT ${IS_RETURNING})`,

  leaf_has_its_attempt: `
    SELECT 'attempt ' || l.attempt_id || ' has leaves and does not exist'
    FROM (SELECT attempt_id FROM leaves UNION SELECT attempt_id FROM free_leaves) l
    WHERE l.attempt_id IS NOT NULL AND NOT ${IS_RETURNING}
      AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.id = l.attempt_id)`,

  assignment_is_unfinished: `
    SELECT 'attempt ' || a.id || ' is ' || a.state || ' and waits for its leaves' FROM attempts a
    JOIN assignments s ON s.attempt_id = a.id WHERE a.state <> 'dead'`,

  unsettled_leaves_are_counted: `
    SELECT 'attempt ' || a.id || ' counts ' || a.unsettled_leaves || ' unsettled leaves of ' ||
      count(l.attempt_id)
    FROM attempts a LEFT JOIN leaves l ON l.attempt_id = a.id AND l.settled_at IS NULL
    WHERE a.state <> 'dead'
    GROUP BY a.id HAVING count(l.attempt_id) <> a.unsettled_leaves`,

  deleted_task_is_buried: `
    SELECT 'task ' || task_id || ' is neither stored nor recorded as deleted'
    FROM (SELECT task_id FROM leaves UNION SELECT task_id FROM ledger WHERE task_id IS NOT NULL) k
    WHERE NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = k.task_id)
      AND NOT EXISTS (SELECT 1 FROM tombstones b WHERE b.task_id = k.task_id)`,

  buried_task_is_gone: `
    SELECT 'task ' || t.id || ' is stored and recorded as deleted' FROM tasks t
    JOIN tombstones b ON b.task_id = t.id`,

  // The hourly counts of an account cover at least the samples and events of its robots. They may be higher, because
  // deleting a robot deletes its samples and events but not the counts.
  activity_covers_robots: `
    SELECT 'hour ' || seen.at || ' of ' || seen.wallet || ' counts too few samples' FROM (
      SELECT r.wallet, u.at, sum(u.samples) AS samples FROM telemetry_rollups u
      JOIN robots r ON r.id = u.robot_id WHERE u.resolution = 'hour' GROUP BY r.wallet, u.at) seen
    LEFT JOIN activity_hours a ON a.scope = seen.wallet AND a.at = seen.at
    WHERE coalesce(a.samples, 0) < seen.samples
    UNION ALL
    SELECT 'the hours of ' || seen.wallet || ' count too few events' FROM (
      SELECT r.wallet, count(*) FILTER (WHERE e.severity = 'info') AS info,
        count(*) FILTER (WHERE e.severity = 'warn') AS warn,
        count(*) FILTER (WHERE e.severity = 'error') AS error
      FROM events e JOIN robots r ON r.id = e.robot_id GROUP BY r.wallet) seen
    LEFT JOIN (SELECT scope, sum(info) AS info, sum(warn) AS warn, sum(error) AS error
      FROM activity_hours GROUP BY scope) a ON a.scope = seen.wallet
    WHERE coalesce(a.info, 0) < seen.info OR coalesce(a.warn, 0) < seen.warn
      OR coalesce(a.error, 0) < seen.error`,

  signing_robot_has_a_key: `
    SELECT 'robot ' || r.id || ' has keys and need not sign, or the reverse' FROM robots r
    WHERE CASE WHEN EXISTS (SELECT 1 FROM robot_keys k WHERE k.robot_id = r.id) THEN r.signs = 0
      -- The deletion of a robot ends its API key first, and its signing keys before the robot.
      ELSE r.signs = 1 AND r.key_hash IS NOT NULL END`,

  statement_is_of_its_key: `
    SELECT 'statement ' || s.number || ' of key ' || s.kid || ' is not of its robot, or before its key'
    FROM statements s JOIN robot_keys k ON k.kid = s.kid
    WHERE s.robot_id <> k.robot_id OR s.number < k.first_number
      OR (s.place > 1 AND NOT EXISTS (SELECT 1 FROM statements f
        WHERE f.kid = s.kid AND f.number = s.number AND f.place = s.place - 1))`,

  signed_completion_has_its_statement: `
    SELECT 'the completion of task ' || c.task_id || ' lacks its statement' FROM completions c
    WHERE c.statement_hash IS NOT NULL AND NOT EXISTS (SELECT 1 FROM statements s
      WHERE s.task_id = c.task_id AND s.statement_hash = c.statement_hash)`,

  counts_are_kept: `
    SELECT 'the count of tasks with ' || proof_hash || ' is wrong' FROM (
      SELECT proof_hash, occurrences FROM proof_hashes
      UNION ALL SELECT proof_hash, -1 FROM completions) h
    GROUP BY proof_hash HAVING sum(occurrences) <> 0 OR max(occurrences) = 0
    UNION ALL
    SELECT 'the count of tasks of robot ' || r.id || ' is wrong' FROM robots r
    LEFT JOIN task_counts c ON c.robot_id = r.id
    LEFT JOIN (SELECT robot_id, count(*) FILTER (WHERE status = 'claimed') AS claimed,
        count(*) FILTER (WHERE status = 'verified') AS verified FROM tasks GROUP BY robot_id) t
      ON t.robot_id = r.id
    WHERE coalesce(c.claimed, 0) <> coalesce(t.claimed, 0)
      OR coalesce(c.verified, 0) <> coalesce(t.verified, 0)
    UNION ALL
    SELECT 'the bytes of webhook ' || w.id || ' are wrong' FROM webhooks w
    LEFT JOIN (SELECT webhook_id, sum(octet_length(data) + 256) AS bytes
      FROM webhook_deliveries GROUP BY webhook_id) d ON d.webhook_id = w.id
    WHERE w.stored_bytes <> coalesce(d.bytes, 0)`,
};
