// Checks the roll-ups of telemetry against the samples.

import { orNull } from '../../../base/or-null.ts';
import { limits } from '../../../protocol/limits.ts';
import type { Resolution } from '../../../protocol/telemetry.ts';
import {
  type SampleRecord,
  type SampleSummary,
  type Spread,
  stepMs,
} from '../../ports/telemetry.ts';
import { sql } from '../db/sql.ts';
import {
  addSample,
  addSummary,
  beginOf,
  emptySummary,
  readSummary,
  resolutions,
  type StoredSummary,
  SUMMARY_COLUMNS,
} from '../telemetry/roll-ups.ts';
import { SAMPLE_COLUMNS } from '../telemetry.ts';
import { folded, type Snapshot, selecting } from './snapshot.ts';

type SampleRow = SampleRecord & { robotId: string };

interface Interval {
  resolution: Resolution;
  at: number;
}

interface Rollup extends Interval {
  /** Null if it is missing or damaged. */
  stored: SampleSummary | null;
  /** Of the samples. */
  computed: SampleSummary;
}

/** The roll-ups of a robot's day (UTC), by resolution and start. */
interface RobotDay {
  robotId: string;
  day: number;
  rollups: Map<string, Rollup>;
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
    add: withSample,
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
  const rows = await tx.all<Interval & StoredSummary>(
    sql`SELECT resolution, at, ${SUMMARY_COLUMNS} FROM telemetry_rollups WHERE robot_id = ${robotId}
      AND resolution IN ('minute', 'hour', 'day') AND at >= ${day} AND at < ${day + stepMs.day}`,
  );
  const rollups = new Map<string, Rollup>();
  for (const { resolution, at, ...summary } of rows) {
    const stored = orNull(() => readSummary(summary));
    const computed = { ...emptySummary(), ...(stored && namesOf(stored)) };
    rollups.set(`${resolution} ${at}`, { resolution, at, stored, computed });
  }
  return { robotId, day, rollups };
}

/** The names of a roll-up without samples: which names had room depends on the order of arrival. */
function namesOf({ states, metrics }: SampleSummary): Pick<SampleSummary, 'states' | 'metrics'> {
  const none = (): Spread => [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
  return {
    states: new Map([...states.keys()].map((state) => [state, 0])),
    metrics: new Map([...metrics.keys()].map((name) => [name, none()])),
  };
}

function withSample(day: RobotDay, row: SampleRow): RobotDay {
  const sample = emptySummary();
  addSample(sample, row);
  for (const resolution of resolutions) {
    const at = beginOf(resolution, row.recordedAt);
    const key = `${resolution} ${at}`;
    const rollup = day.rollups.get(key) ?? {
      resolution,
      at,
      stored: null,
      computed: emptySummary(),
    };
    day.rollups.set(key, rollup);
    addSummary(rollup.computed, sample, limits);
  }
  return day;
}

async function violationsOfDay({ tx }: Snapshot, { robotId, rollups }: RobotDay) {
  const deleted = await tx.get<{ before: number }>(
    sql`SELECT before FROM telemetry_horizons WHERE robot_id = ${robotId}`,
  );
  // Retention deleted the robot's samples before the horizon.
  const horizon = deleted?.before ?? Number.NEGATIVE_INFINITY;
  const violations: string[] = [];
  for (const { resolution, at, stored, computed } of rollups.values()) {
    const isPartial = resolution === 'minute' || computed.samples <= (stored?.samples ?? 0);
    if (at < horizon && isPartial) continue;
    if (stored !== null && agree(computed, stored)) continue;
    violations.push(`the ${resolution} ${at} of robot ${robotId} differs from its samples`);
  }
  return violations;
}

function agree(a: SampleSummary, b: SampleSummary): boolean {
  return (
    a.samples === b.samples &&
    haveSameReadings(a.battery, b.battery) &&
    a.states.size === b.states.size &&
    [...a.states].every(([state, count]) => count === b.states.get(state)) &&
    a.metrics.size === b.metrics.size &&
    [...a.metrics].every(([name, spread]) => haveSameReadings(spread, b.metrics.get(name)))
  );
}

/** Sums may differ by what rounding takes, which depends on the order of `count` numbers up to `largest`. */
function haveSameReadings(a: Spread | null, b: Spread | null | undefined): boolean {
  if (a === null || !b) return a === b;
  const [count, min, max, sum] = a;
  const largest = Math.max(Math.abs(min), Math.abs(max));
  return (
    count === b[0] &&
    min === b[1] &&
    max === b[2] &&
    Math.abs(sum - b[3]) <= count * count * largest * Number.EPSILON
  );
}
