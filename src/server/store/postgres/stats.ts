// Counts samples by hour, when they happen.

import type { Queries } from './engine/connections.ts';
import { sql } from './engine/sql.ts';

/** The samples of a robot in one hour. They count for the account, and for the fleet if the robot is in one. */
export interface SampleCount {
  wallet: string;
  fleetId: string | null;
  /** The start of the hour (UTC), in ms. */
  at: number;
  samples: number;
}

const addSamples = sql(`INSERT INTO activity_hours AS a (scope, at, samples)
  SELECT c.scope, s.at, sum(s.samples)
  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
    AS s (wallet, fleet, at, samples)
  CROSS JOIN LATERAL (VALUES (s.wallet), (s.fleet)) AS c (scope)
  WHERE c.scope IS NOT NULL
  GROUP BY c.scope, s.at ORDER BY c.scope COLLATE "C", s.at
  ON CONFLICT (scope, at) DO UPDATE SET samples = a.samples + excluded.samples`);

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
