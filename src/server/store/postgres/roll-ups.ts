// Stores telemetry roll-ups: summaries of samples by minute, hour and day.

import { startYielding } from '../../../base/async/cooperative-yield.ts';
import type { Resolution } from '../../../protocol/telemetry.ts';
import type { NewSamples } from '../../ports/telemetry.ts';
import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import {
  type StoredSummary,
  SUMMARY_COLUMNS,
  storedWith,
  summarize,
} from '../telemetry/roll-ups.ts';

interface RollupRow extends StoredSummary {
  robot_id: string;
  resolution: Resolution;
  at: number;
}

/** New samples of a robot. */
type RobotSamples = Pick<NewSamples, 'robotId' | 'samples'>;

/**
 * Adds new samples to the roll-ups of their minutes, hours and days. Each is read and written once. Call it inside a
 * write that has locked the robots: every change of roll-ups locks them first.
 */
export async function addToRollups(tx: Tx, robots: readonly RobotSamples[]): Promise<void> {
  if (robots.every(({ samples }) => samples.length === 0)) return;
  const step = startYielding();
  const added: Added[] = [];
  for (const { robotId, samples } of robots) {
    added.push(...summarize(samples).map((each) => ({ robotId, ...each })));
    await step();
  }
  const stored = await storedRollups(tx, added);
  const rows: RollupRow[] = [];
  for (const { robotId, resolution, at, summary } of added) {
    const before = stored.get(keyOf(robotId, resolution, at)) ?? null;
    rows.push({ robot_id: robotId, resolution, at, ...storedWith(before, summary) });
    await step();
  }
  await save(tx, rows);
}

type Added = ReturnType<typeof summarize>[number] & { robotId: string };

async function storedRollups(tx: Tx, intervals: readonly Added[]) {
  const rows = await tx.all<RollupRow>(sql`SELECT robot_id, resolution, at, ${SUMMARY_COLUMNS}
    FROM unnest(${intervals.map(({ robotId }) => robotId)}::uuid[],
      ${intervals.map(({ resolution }) => resolution)}::text[],
      ${intervals.map(({ at }) => at)}::bigint[]) AS intervals (robot_id, resolution, at)
    JOIN telemetry_rollups USING (robot_id, resolution, at)`);
  return new Map(rows.map((row) => [keyOf(row.robot_id, row.resolution, row.at), row]));
}

function keyOf(robotId: string, resolution: Resolution, at: number): string {
  return `${robotId} ${resolution} ${at}`;
}

async function save(tx: Tx, rows: readonly RollupRow[]): Promise<void> {
  await tx.run(sql`INSERT INTO telemetry_rollups (robot_id, resolution, at, ${SUMMARY_COLUMNS})
    SELECT * FROM unnest(${rows.map(({ robot_id }) => robot_id)}::uuid[],
      ${rows.map(({ resolution }) => resolution)}::text[], ${rows.map(({ at }) => at)}::bigint[],
      ${rows.map(({ samples }) => samples)}::bigint[],
      ${rows.map(({ battery }) => battery)}::text[], ${rows.map(({ states }) => states)}::text[],
      ${rows.map(({ metrics }) => metrics)}::text[])
    ON CONFLICT (robot_id, resolution, at) DO UPDATE SET samples = excluded.samples,
      battery = excluded.battery, states = excluded.states, metrics = excluded.metrics`);
}
