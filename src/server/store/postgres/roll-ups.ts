// Stores telemetry roll-ups: aggregates of samples by minute, hour and day.

import { startYielding } from '../../../base/async/cooperative-yield.ts';
import type { Resolution } from '../../../protocol/telemetry.ts';
import type { NewSamples } from '../../ports/telemetry.ts';
import { sql } from '../db/sql.ts';
import type { Tx } from '../db/tx.ts';
import { noNames, rollUpNames, type StoredNames } from '../telemetry/aggregate.ts';
import {
  type AggregateOfDay,
  addToAggregates,
  byInterval,
  newNames,
  resolutions,
} from '../telemetry/roll-ups.ts';

type RollupRow = AggregateOfDay & { robot_id: string };

interface NamesRow {
  robot_id: string;
  day: number;
  names: string;
}

/** New samples of a robot, not aggregated yet. */
type RobotSamples = Pick<NewSamples, 'robotId' | 'samples'>;

interface RobotDay extends RobotSamples {
  day: number;
}

/**
 * Adds new samples to the aggregates of their minutes, hours and days. Each aggregate is read and written once. Call it
 * inside a write that has locked the robots: every change of roll-ups locks them first.
 */
export async function addToRollups(tx: Tx, robots: readonly RobotSamples[]): Promise<void> {
  const days = robots.flatMap(daysOf);
  if (days.length === 0) return;
  const namesOf = await storedNames(tx, days);
  const stored = await storedAggregates(tx, days);
  const aggregates: RollupRow[] = [];
  const grown: NamesRow[] = [];
  const step = startYielding();
  for (const { robotId, day, samples } of days) {
    const held = namesOf(robotId, day);
    const names = rollUpNames(held);
    const added = await addToAggregates(samples, names, (resolution, at) =>
      stored.get(keyOf(robotId, resolution, at)),
    );
    aggregates.push(...added.map((row) => ({ robot_id: robotId, ...row })));
    const grownNames = newNames(names, held);
    if (grownNames !== null) grown.push({ robot_id: robotId, day, names: grownNames });
    await step();
  }
  await save(tx, aggregates, grown);
}

function daysOf({ robotId, samples }: RobotSamples): RobotDay[] {
  return [...byInterval('day', samples)].map(([day, ofDay]) => ({ robotId, day, samples: ofDay }));
}

async function storedNames(tx: Tx, days: readonly RobotDay[]) {
  const rows = await tx.all<NamesRow>(sql`SELECT robot_id, day, names
    FROM unnest(${days.map(({ robotId }) => robotId)}::uuid[],
      ${days.map(({ day }) => day)}::bigint[]) AS days (robot_id, day)
    JOIN telemetry_names USING (robot_id, day)`);
  const found = new Map<string, StoredNames>(
    rows.map(({ robot_id, day, names }) => [`${robot_id} ${day}`, JSON.parse(names)]),
  );
  return (robotId: string, day: number) => found.get(`${robotId} ${day}`) ?? noNames;
}

async function storedAggregates(tx: Tx, days: RobotDay[]): Promise<Map<string, RollupRow>> {
  const intervals = days.flatMap(({ robotId, samples }) =>
    resolutions.flatMap((resolution) =>
      [...byInterval(resolution, samples).keys()].map((at) => ({ robotId, resolution, at })),
    ),
  );
  const rows = await tx.all<RollupRow>(sql`SELECT robot_id, resolution, at, samples, summary
    FROM unnest(${intervals.map(({ robotId }) => robotId)}::uuid[],
      ${intervals.map(({ resolution }) => resolution)}::text[],
      ${intervals.map(({ at }) => at)}::bigint[]) AS intervals (robot_id, resolution, at)
    JOIN telemetry_rollups USING (robot_id, resolution, at)`);
  return new Map(rows.map((row) => [keyOf(row.robot_id, row.resolution, row.at), row]));
}

function keyOf(robotId: string, resolution: Resolution, at: number): string {
  return `${robotId} ${resolution} ${at}`;
}

async function save(tx: Tx, aggregates: RollupRow[], names: NamesRow[]): Promise<void> {
  await tx.run(sql`INSERT INTO telemetry_rollups (robot_id, resolution, at, samples, summary)
    SELECT * FROM unnest(${aggregates.map(({ robot_id }) => robot_id)}::uuid[],
      ${aggregates.map(({ resolution }) => resolution)}::text[],
      ${aggregates.map(({ at }) => at)}::bigint[],
      ${aggregates.map(({ samples }) => samples)}::bigint[],
      ${aggregates.map(({ summary }) => summary)}::bytea[])
    ON CONFLICT (robot_id, resolution, at) DO UPDATE
      SET samples = excluded.samples, summary = excluded.summary`);
  if (names.length === 0) return;
  await tx.run(sql`INSERT INTO telemetry_names (robot_id, day, names)
    SELECT robot_id, day, names FROM json_to_recordset(${JSON.stringify(names)})
      AS days (robot_id uuid, day bigint, names text)
    ON CONFLICT (robot_id, day) DO UPDATE SET names = excluded.names`);
}
