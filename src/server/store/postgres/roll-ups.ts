// Stores telemetry roll-ups: aggregates of samples by minute, hour and day.

import { startYielding } from '../../../base/cooperative-yield.ts';
import type { Resolution } from '../../../protocol/telemetry.ts';
import type { RobotOfAccount, Rollup, SampleRecord, TimeRange } from '../../ports/telemetry.ts';
import {
  Aggregate,
  noNames,
  numbered,
  type RollUpNames,
  readingsOf,
  rollUpNames,
  type StoredNames,
  summaryOf,
} from '../rows/aggregate.ts';
import { addEncoded, encodeAggregate } from '../rows/aggregate-bytes.ts';
import { beginOf, byInterval, resolutions } from '../rows/roll-ups.ts';
import type { Queries } from './engine/connections.ts';
import { sql } from './engine/sql.ts';

export interface RollupRow {
  robot_id: string;
  resolution: Resolution;
  at: number;
  samples: number;
  summary: Buffer;
}

interface NamesRow {
  robot_id: string;
  day: number;
  names: string;
}

/** New samples of a robot, not aggregated yet. */
interface RobotSamples {
  robotId: string;
  samples: readonly SampleRecord[];
}

interface RobotDay extends RobotSamples {
  day: number;
}

const readNames = sql(`SELECT robot_id, day, names
  FROM unnest($1::uuid[], $2::bigint[]) AS days (robot_id, day)
  JOIN telemetry_names USING (robot_id, day)`);
const readAggregates = sql(`SELECT robot_id, resolution, at, samples, summary
  FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS intervals (robot_id, resolution, at)
  JOIN telemetry_rollups USING (robot_id, resolution, at)`);
const saveAggregates =
  sql(`INSERT INTO telemetry_rollups (robot_id, resolution, at, samples, summary)
  SELECT * FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[])
  ON CONFLICT (robot_id, resolution, at) DO UPDATE
    SET samples = excluded.samples, summary = excluded.summary`);
const saveNames = sql(`INSERT INTO telemetry_names (robot_id, day, names)
  SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[])
  ON CONFLICT (robot_id, day) DO UPDATE SET names = excluded.names`);
const readRange = sql(`SELECT rollups.* FROM robots
  LEFT JOIN LATERAL (
    SELECT robot_id, resolution, at, samples, summary FROM telemetry_rollups
    WHERE robot_id = $1 AND resolution = $3 AND at >= $4 AND at < $5 ORDER BY at LIMIT $6
  ) AS rollups ON true
  WHERE robots.id = $1 AND robots.wallet = $2 ORDER BY rollups.at`);

/**
 * Adds new samples to the aggregates of their minutes, hours and days. Each aggregate is read and written once. Call it
 * inside a write that has locked the robots: every change of roll-ups locks them first.
 */
export async function addToRollups(tx: Queries, robots: readonly RobotSamples[]): Promise<void> {
  const days = robots.flatMap(daysOf);
  if (days.length === 0) return;
  const namesOf = await storedNames(tx, days);
  const stored = await storedAggregates(tx, days);
  const aggregates: RollupRow[] = [];
  const grown: NamesRow[] = [];
  const step = startYielding();
  for (const day of days) {
    const held = namesOf(day.robotId, day.day);
    const names = rollUpNames(held);
    aggregates.push(...aggregatesOf(day, names, stored));
    if (hasNewNames(names, held)) grown.push(toNamesRow(day, names));
    await step();
  }
  await save(tx, aggregates, grown);
}

/** Reads up to `limit` roll-ups of a range, oldest first; `null` if the account has no such robot. */
export async function readRollups(
  queries: Queries,
  { wallet, robotId }: RobotOfAccount,
  resolution: Resolution,
  { from, to }: TimeRange,
  limit: number,
): Promise<Rollup[] | null> {
  // A robot without roll-ups in the range gives one row of nulls.
  const rows = await queries.rows<RollupRow | Record<keyof RollupRow, null>>(readRange, [
    robotId,
    wallet,
    resolution,
    from,
    to,
    limit,
  ]);
  if (rows.length === 0) return null;
  const found = rows.filter((row): row is RollupRow => row.robot_id !== null);
  const days = new Set(found.map(({ at }) => beginOf('day', at)));
  // Read the names after the roll-ups: names are only added, so all numbers of the roll-ups are known.
  const namesOf = await storedNames(
    queries,
    [...days].map((day) => ({ robotId, day })),
  );
  const aggregate = new Aggregate();
  return found.map(({ at, samples, summary }) => {
    aggregate.clear();
    addEncoded(aggregate, samples, summary);
    return { at, summary: summaryOf(aggregate, namesOf(robotId, beginOf('day', at))) };
  });
}

function daysOf({ robotId, samples }: RobotSamples): RobotDay[] {
  return [...byInterval('day', samples)].map(([day, ofDay]) => ({ robotId, day, samples: ofDay }));
}

async function storedNames(
  queries: Queries,
  days: readonly { robotId: string; day: number }[],
): Promise<(robotId: string, day: number) => StoredNames> {
  const rows = await queries.rows<NamesRow>(readNames, [
    days.map(({ robotId }) => robotId),
    days.map(({ day }) => day),
  ]);
  const found = new Map<string, StoredNames>(
    rows.map(({ robot_id, day, names }) => [`${robot_id} ${day}`, JSON.parse(names)]),
  );
  return (robotId, day) => found.get(`${robotId} ${day}`) ?? noNames;
}

async function storedAggregates(tx: Queries, days: RobotDay[]): Promise<Map<string, RollupRow>> {
  const intervals = days.flatMap(({ robotId, samples }) =>
    resolutions.flatMap((resolution) =>
      [...byInterval(resolution, samples).keys()].map((at) => ({ robotId, resolution, at })),
    ),
  );
  const rows = await tx.rows<RollupRow>(readAggregates, [
    intervals.map(({ robotId }) => robotId),
    intervals.map(({ resolution }) => resolution),
    intervals.map(({ at }) => at),
  ]);
  return new Map(rows.map((row) => [keyOf(row.robot_id, row.resolution, row.at), row]));
}

function keyOf(robotId: string, resolution: Resolution, at: number): string {
  return `${robotId} ${resolution} ${at}`;
}

function aggregatesOf(
  { robotId, samples }: RobotDay,
  names: RollUpNames,
  stored: ReadonlyMap<string, RollupRow>,
): RollupRow[] {
  const counted = samples.map((sample) => ({
    recordedAt: sample.recordedAt,
    readings: numbered(names, readingsOf(sample)),
  }));
  const aggregate = new Aggregate();
  return resolutions.flatMap((resolution) =>
    [...byInterval(resolution, counted)].map(([at, ofInterval]) => {
      aggregate.clear();
      const row = stored.get(keyOf(robotId, resolution, at));
      if (row !== undefined) addEncoded(aggregate, row.samples, row.summary);
      for (const { readings } of ofInterval) aggregate.add(readings);
      const summary = encodeAggregate(aggregate);
      return { robot_id: robotId, resolution, at, samples: aggregate.samples, summary };
    }),
  );
}

function hasNewNames({ states, metrics }: RollUpNames, stored: StoredNames): boolean {
  return states.size > stored.states.length || metrics.size > stored.metrics.length;
}

function toNamesRow({ robotId, day }: RobotDay, { states, metrics }: RollUpNames): NamesRow {
  const names = { states: states.names, metrics: metrics.names };
  return { robot_id: robotId, day, names: JSON.stringify(names) };
}

async function save(tx: Queries, aggregates: RollupRow[], names: NamesRow[]): Promise<void> {
  await tx.run(saveAggregates, [
    aggregates.map(({ robot_id }) => robot_id),
    aggregates.map(({ resolution }) => resolution),
    aggregates.map(({ at }) => at),
    aggregates.map(({ samples }) => samples),
    aggregates.map(({ summary }) => summary),
  ]);
  if (names.length === 0) return;
  await tx.run(saveNames, [
    names.map(({ robot_id }) => robot_id),
    names.map(({ day }) => day),
    names.map((row) => row.names),
  ]);
}
