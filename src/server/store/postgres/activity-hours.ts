import type { Queries } from './connections.ts';
import { sql } from './sql.ts';

const HOUR_MS = 60 * 60_000;

/** Samples of a robot recorded in one hour: counted for the account, and for the fleet if the robot is in one. */
export interface SampleCount {
  wallet: string;
  fleetId: string | null;
  /** Begin of the hour (UTC). */
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

/** Begin of the hour (UTC). */
export function hourOf(instant: number): number {
  return Math.floor(instant / HOUR_MS) * HOUR_MS;
}

/** Inside a write, and last in it: the robots of an account meet here, whichever instances they call. */
export async function countSamples(tx: Queries, counts: readonly SampleCount[]): Promise<void> {
  if (counts.length === 0) return;
  await tx.run(addSamples, [
    counts.map(({ wallet }) => wallet),
    counts.map(({ fleetId }) => fleetId),
    counts.map(({ at }) => at),
    counts.map(({ samples }) => samples),
  ]);
}
