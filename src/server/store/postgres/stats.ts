// Counts activity by hour and anchors by day, when they happen.

import type { Queries } from './engine/connections.ts';
import { sql } from './engine/sql.ts';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

/** The samples of a robot in one hour. They count for the account, and for the fleet if the robot is in one. */
export interface SampleCount {
  wallet: string;
  fleetId: string | null;
  /** The start of the hour (UTC), in ms. */
  at: number;
  samples: number;
}

interface Settled {
  wallet: string;
  taskId: string;
  chargeWei: bigint;
}

const addSamples = sql(`INSERT INTO activity_hours AS a (scope, at, samples)
  SELECT c.scope, s.at, sum(s.samples)
  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
    AS s (wallet, fleet, at, samples)
  CROSS JOIN LATERAL (VALUES (s.wallet), (s.fleet)) AS c (scope)
  WHERE c.scope IS NOT NULL
  GROUP BY c.scope, s.at ORDER BY c.scope COLLATE "C", s.at
  ON CONFLICT (scope, at) DO UPDATE SET samples = a.samples + excluded.samples`);

// FOR SHARE: a robot cannot leave its fleet, and the fleet cannot be deleted, before this is counted.
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

/** The start of the hour (UTC) that contains the instant, in ms. */
export function hourOf(instant: number): number {
  return Math.floor(instant / HOUR_MS) * HOUR_MS;
}

/** Counts samples by hour. Call it last inside a write: all robots of an account, on all instances, lock these rows. */
export async function countSamples(tx: Queries, counts: readonly SampleCount[]): Promise<void> {
  if (counts.length === 0) return;
  await tx.run(addSamples, [
    counts.map(({ wallet }) => wallet),
    counts.map(({ fleetId }) => fleetId),
    counts.map(({ at }) => at),
    counts.map(({ samples }) => samples),
  ]);
}

/**
 * Counts settled anchors and their charges by day (UTC), for the account and for the robot's fleet if it is in one.
 * Call it inside a write. Locks the robots by id, then the days.
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
