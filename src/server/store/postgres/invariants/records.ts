import { type Invariant, selecting } from './invariant.ts';

/** Of tasks, robots, fleets, and what triggers count of them. */
export const recordInvariants: Record<string, Invariant> = {
  deleted_task_is_buried: selecting(`
    SELECT 'task ' || task_id || ' is known and neither there nor buried'
    FROM (SELECT task_id FROM leaves UNION SELECT task_id FROM ledger WHERE task_id IS NOT NULL) k
    WHERE NOT EXISTS (SELECT FROM tasks t WHERE t.id = k.task_id)
      AND NOT EXISTS (SELECT FROM tombstones b WHERE b.task_id = k.task_id)`),

  buried_task_is_gone: selecting(`
    SELECT 'task ' || t.id || ' is there and buried' FROM tasks t
    JOIN tombstones b ON b.task_id = t.id`),

  counts_are_kept: selecting(`
    SELECT 'the count of robots of ' || a.wallet || ' is off' FROM accounts a
    LEFT JOIN robots r ON r.wallet = a.wallet
    GROUP BY a.wallet HAVING count(r.id) <> a.robot_count
    UNION ALL
    SELECT 'the count of fleets of ' || a.wallet || ' is off' FROM accounts a
    LEFT JOIN fleets f ON f.wallet = a.wallet
    GROUP BY a.wallet HAVING count(f.id) <> a.fleet_count
    UNION ALL
    SELECT 'the count of tasks with ' || coalesce(h.proof_hash, c.proof_hash) || ' is off'
    FROM proof_hashes h
    FULL JOIN (SELECT proof_hash, count(*) AS occurrences FROM completions GROUP BY proof_hash) c
      ON c.proof_hash = h.proof_hash
    WHERE c.occurrences IS DISTINCT FROM h.occurrences
    UNION ALL
    SELECT 'the count of tasks of robot ' || r.id || ' is off' FROM robots r
    LEFT JOIN task_counts c ON c.robot_id = r.id
    LEFT JOIN (SELECT robot_id, count(*) FILTER (WHERE status = 'claimed') AS claimed,
        count(*) FILTER (WHERE status = 'verified') AS verified FROM tasks GROUP BY robot_id) t
      ON t.robot_id = r.id
    WHERE coalesce(c.claimed, 0) <> coalesce(t.claimed, 0)
      OR coalesce(c.verified, 0) <> coalesce(t.verified, 0)`),
};
