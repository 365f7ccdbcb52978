import { noNames, readingsOf, type StoredNames } from '../../../core/day-names.ts';
import { stepMs } from '../../../core/telemetry-store.ts';
import { beginOf } from '../../day-tallies.ts';
import { type RobotDay, startDay, violationsOfDay } from '../../invariants/robot-day.ts';
import type { Queries } from '../connections.ts';
import type { RollupRow } from '../roll-ups.ts';
import { sql } from '../sql.ts';
import { type Invariant, scan, selecting } from './invariant.ts';

interface SampleRow {
  robot_id: string;
  recorded_at: number;
  battery_pct: number | null;
  state: string | null;
  metrics: string;
}

/** Robots that are there; what others left behind is about to go. */
const LIVE = 'robot_id IN (SELECT id FROM robots)';

const readNotes = sql(`SELECT
  (SELECT names FROM telemetry_names WHERE robot_id = $1 AND day = $2) AS names,
  (SELECT before FROM telemetry_horizons WHERE robot_id = $1) AS horizon`);
const readStored = sql(`SELECT resolution, at, samples, summary FROM telemetry_rollups
  WHERE robot_id = $1 AND resolution IN ('minute', 'hour', 'day') AND at >= $2 AND at < $3`);

interface CheckedDay extends RobotDay {
  horizon: number | null;
}

/** Both ways, beyond what retention has deleted. Holds one robot's day at a time. */
export async function* rollupsFollowSamples(tx: Queries): AsyncGenerator<string> {
  const samples = scan<SampleRow>(
    tx,
    `SELECT robot_id, recorded_at, battery_pct, state, metrics FROM telemetry WHERE ${LIVE}
     ORDER BY robot_id, recorded_at, id`,
  );
  let open: CheckedDay | undefined;
  for await (const row of samples) {
    const { robot_id: robotId, battery_pct: batteryPct, state, metrics } = row;
    const day = beginOf('day', row.recorded_at);
    if (open?.robotId !== robotId || open.day !== day) {
      if (open !== undefined) yield* compare(tx, open);
      open = await begin(tx, robotId, day);
    }
    open.tallies.add(row.recorded_at, readingsOf({ batteryPct, state, metrics }));
  }
  if (open !== undefined) yield* compare(tx, open);
  yield* rollupsWithoutSamples(tx);
}

async function begin(tx: Queries, robotId: string, day: number): Promise<CheckedDay> {
  const notes = await tx.first<{ names: string | null; horizon: number | null }>(readNotes, [
    robotId,
    day,
  ]);
  const names: StoredNames = notes?.names ? JSON.parse(notes.names) : noNames;
  return { ...startDay(robotId, day, names), horizon: notes?.horizon ?? null };
}

async function* compare(tx: Queries, day: CheckedDay): AsyncGenerator<string> {
  const rows = await tx.rows<RollupRow>(readStored, [day.robotId, day.day, day.day + stepMs.day]);
  yield* violationsOfDay(day, day.horizon, (resolution) =>
    rows.filter((row) => row.resolution === resolution),
  );
}

/** Of days without any sample, which the comparison of days does not see. */
const rollupsWithoutSamples: Invariant = selecting(`
  SELECT 'the ' || r.resolution || ' ' || r.at || ' of robot ' || r.robot_id || ' has no samples'
  FROM (SELECT robot_id, resolution, at, at - (at % 86400000 + 86400000) % 86400000 AS day
    FROM telemetry_rollups WHERE ${LIVE}) r
  LEFT JOIN telemetry_horizons h ON h.robot_id = r.robot_id
  WHERE (h.before IS NULL OR r.at >= h.before) AND NOT EXISTS (
    SELECT FROM telemetry t WHERE t.robot_id = r.robot_id
      AND t.recorded_at >= r.day AND t.recorded_at < r.day + 86400000)`);
