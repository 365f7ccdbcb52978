// Checks the roll-ups of telemetry against the samples.

import { type SampleRecord, stepMs } from '../../ports/telemetry.ts';
import { sql } from '../db/sql.ts';
import {
  type Aggregate,
  agree,
  decodeAggregate,
  noNames,
  type RollUpNames,
  readingsOf,
  rollUpNames,
  type StoredNames,
} from '../telemetry/aggregate.ts';
import {
  type AggregateOfDay,
  beginOf,
  DayAggregates,
  resolutions,
  type StoredAggregate,
} from '../telemetry/roll-ups.ts';
import { SAMPLE_COLUMNS } from '../telemetry.ts';
import { folded, type Snapshot, selecting } from './snapshot.ts';

type SampleRow = SampleRecord & { robotId: string };

/** The aggregates of a robot's day (UTC), recomputed from its samples. */
interface RobotDay {
  robotId: string;
  day: number;
  aggregates: DayAggregates;
  /** The number of names stored for the day. */
  storedNames: number;
}

/** Existing robots only. Retention is about to delete the rest. */
const LIVE = 'robot_id IN (SELECT id FROM robots)';

/** Compares roll-ups and samples in both directions, except what retention deleted. Holds one robot's day at a time. */
export async function* rollupsFollowSamples(snapshot: Snapshot): AsyncGenerator<string> {
  const samples = snapshot.scan<SampleRow>(
    `SELECT robot_id AS "robotId", ${SAMPLE_COLUMNS} FROM telemetry WHERE ${LIVE}
     ORDER BY robot_id, recorded_at, id`,
  );
  const days = folded(samples, {
    start: (row) => startDay(snapshot, row),
    isSame: (open, row) =>
      open.robotId === row.robotId && open.day === beginOf('day', row.recordedAt),
    add(open, row) {
      open.aggregates.add(row.recordedAt, readingsOf(row));
      return open;
    },
  });
  for await (const day of days) {
    for (const violation of await violationsOfDay(snapshot, day)) yield violation;
  }
  for await (const violation of rollupsWithoutSamples(snapshot)) yield violation;
}

/** Selects roll-ups of days without samples, which the comparison by day does not visit. */
const rollupsWithoutSamples = selecting(`
  SELECT 'the ' || r.resolution || ' ' || r.at || ' of robot ' || r.robot_id || ' has no samples'
  FROM (SELECT robot_id, resolution, at, at - (at % 86400000 + 86400000) % 86400000 AS day
    FROM telemetry_rollups WHERE ${LIVE}) r
  LEFT JOIN telemetry_horizons h ON h.robot_id = r.robot_id
  WHERE (h.before IS NULL OR r.at >= h.before) AND NOT EXISTS (
    SELECT 1 FROM telemetry t WHERE t.robot_id = r.robot_id
      AND t.recorded_at >= r.day AND t.recorded_at < r.day + 86400000)`);

async function startDay({ tx }: Snapshot, { robotId, recordedAt }: SampleRow): Promise<RobotDay> {
  const day = beginOf('day', recordedAt);
  const row = await tx.get<{ names: string }>(
    sql`SELECT names FROM telemetry_names WHERE robot_id = ${robotId} AND day = ${day}`,
  );
  const stored: StoredNames = row === undefined ? noNames : JSON.parse(row.names);
  const names = rollUpNames(stored);
  return { robotId, day, aggregates: new DayAggregates(names), storedNames: countNames(names) };
}

async function violationsOfDay(
  { tx }: Snapshot,
  { robotId, day, aggregates, storedNames }: RobotDay,
): Promise<string[]> {
  const violations: string[] = [];
  const deleted = await tx.get<{ before: number }>(
    sql`SELECT before FROM telemetry_horizons WHERE robot_id = ${robotId}`,
  );
  // Retention deleted the robot's samples before the horizon.
  const horizon = deleted?.before ?? Number.NEGATIVE_INFINITY;
  const stored = await tx.all<AggregateOfDay>(
    sql`SELECT resolution, at, samples, summary FROM telemetry_rollups WHERE robot_id = ${robotId}
      AND resolution IN ('minute', 'hour', 'day') AND at >= ${day} AND at < ${day + stepMs.day}`,
  );
  if (day >= horizon && countNames(aggregates.names) > storedNames) {
    violations.push(`day ${day} of robot ${robotId} lacks names of its samples`);
  }
  for (const resolution of resolutions) {
    const unseen = new Map(
      stored.filter((row) => row.resolution === resolution).map((row) => [row.at, row]),
    );
    for (const [at, counted] of aggregates.by(resolution)) {
      const row = unseen.get(at);
      unseen.delete(at);
      if (at < horizon && (resolution === 'minute' || counted.samples <= (row?.samples ?? 0))) {
        continue;
      }
      if (row === undefined || !saysTheSame(row, counted)) {
        violations.push(`the ${resolution} ${at} of robot ${robotId} differs from its samples`);
      }
    }
    for (const at of unseen.keys()) {
      if (at >= horizon)
        violations.push(`the ${resolution} ${at} of robot ${robotId} has no samples`);
    }
  }
  return violations;
}

function countNames({ states, metrics }: RollUpNames): number {
  return states.size + metrics.size;
}

function saysTheSame({ samples, summary }: StoredAggregate, counted: Aggregate): boolean {
  try {
    return agree(counted, decodeAggregate(samples, summary));
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
