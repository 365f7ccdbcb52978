import type { Queries } from './connections.ts';
import { sql } from './sql.ts';

const DAY_MS = 24 * 60 * 60_000;

interface Settled {
  wallet: string;
  taskId: string;
  chargeWei: bigint;
}

// The robots' rows are locked, so that none leaves its fleet and the fleet ends before this is counted in it.
const count = sql(`WITH
  placed AS (
    SELECT t.id AS task_id, r.fleet_id FROM tasks t JOIN robots r ON r.id = t.robot_id
    WHERE t.id = ANY($2::uuid[]) ORDER BY r.id FOR SHARE OF r
  ),
  charged AS (
    SELECT s.wallet, p.fleet_id::text COLLATE "C" AS fleet, s.charge_wei
    FROM unnest($1::text[], $2::uuid[], $3::numeric[]) AS s (wallet, task_id, charge_wei)
    LEFT JOIN placed p USING (task_id)
  )
  INSERT INTO anchor_days AS d (scope, at, anchors, gas_wei)
  SELECT c.scope, $4::bigint, count(*), sum(charged.charge_wei)
  FROM charged CROSS JOIN LATERAL (VALUES (charged.wallet), (charged.fleet)) AS c (scope)
  WHERE c.scope IS NOT NULL
  GROUP BY c.scope ORDER BY c.scope
  ON CONFLICT (scope, at) DO UPDATE
    SET anchors = d.anchors + excluded.anchors, gas_wei = d.gas_wei + excluded.gas_wei`);

/**
 * Counts anchors settled at the same moment and their charges by day (UTC): of the account, and of the fleet that
 * the robot is in, as long as it is there. Inside a write; locks the robots by id, then the days.
 */
export async function countAnchors(
  tx: Queries,
  settled: readonly Settled[],
  at: number,
): Promise<void> {
  if (settled.length === 0) return;
  await tx.run(count, [
    settled.map(({ wallet }) => wallet),
    settled.map(({ taskId }) => taskId),
    settled.map(({ chargeWei }) => chargeWei),
    Math.floor(at / DAY_MS) * DAY_MS,
  ]);
}
