import type { Database } from 'better-sqlite3';
import { readingsOf } from '../../../core/day-names.ts';
import { stepMs } from '../../../core/telemetry-store.ts';
import { beginOf } from '../../day-tallies.ts';
import { type RobotDay, startDay, violationsOfDay } from '../../invariants/robot-day.ts';
import { namesReader, type RollupRow } from '../roll-ups.ts';

interface SampleRow {
  robot_id: string;
  recorded_at: number;
  battery_pct: number | null;
  state: string | null;
  metrics: string;
}

/** Robots that are there; what others left behind is about to go. */
const LIVE = 'robot_id IN (SELECT id FROM robots)';

/** Begin of the day of an instant, before 1970 as well. */
const DAY_OF_AT = 'at - (at % 86400000 + 86400000) % 86400000';

/** Both ways, beyond what retention has deleted. Holds one robot's day at a time. */
export function* rollupsFollowSamples(db: Database): Generator<string> {
  const namesOf = namesReader(db);
  const violationsOfDay = dayComparison(db);
  const samples = db.prepare<[], SampleRow>(
    `SELECT robot_id, recorded_at, battery_pct, state, metrics FROM telemetry WHERE ${LIVE}
     ORDER BY robot_id, recorded_at, id`,
  );
  let open: RobotDay | undefined;
  for (const row of samples.iterate()) {
    const { robot_id: robotId, battery_pct: batteryPct, state, metrics } = row;
    const day = beginOf('day', row.recorded_at);
    if (open?.robotId !== robotId || open.day !== day) {
      if (open !== undefined) yield* violationsOfDay(open);
      open = startDay(robotId, day, namesOf(robotId, day));
    }
    open.tallies.add(row.recorded_at, readingsOf({ batteryPct, state, metrics }));
  }
  if (open !== undefined) yield* violationsOfDay(open);
  yield* rollupsWithoutSamples(db);
}

function dayComparison(db: Database): (day: RobotDay) => Generator<string> {
  const horizonOf = db
    .prepare<[string], number>('SELECT before FROM telemetry_horizons WHERE robot_id = ?')
    .pluck();
  const stored = db.prepare<[string, string, number, number], RollupRow>(
    `SELECT at, samples, summary FROM telemetry_rollups
     WHERE robot_id = ? AND resolution = ? AND at >= ? AND at < ?`,
  );
  return function* (robotDay) {
    const { robotId, day } = robotDay;
    yield* violationsOfDay(robotDay, horizonOf.get(robotId) ?? null, (resolution) =>
      stored.all(robotId, resolution, day, day + stepMs.day),
    );
  };
}

/** Of days without any sample, which the comparison of days does not see. */
function* rollupsWithoutSamples(db: Database): Generator<string> {
  const rows = db.prepare<[], string>(
    `SELECT 'the ' || r.resolution || ' ' || r.at || ' of robot ' || r.robot_id || ' has no samples'
     FROM (SELECT robot_id, resolution, at, ${DAY_OF_AT} AS day FROM telemetry_rollups
       WHERE ${LIVE}) r
     LEFT JOIN telemetry_horizons h ON h.robot_id = r.robot_id
     WHERE (h.before IS NULL OR r.at >= h.before) AND NOT EXISTS (
       SELECT 1 FROM telemetry t WHERE t.robot_id = r.robot_id
         AND t.recorded_at >= r.day AND t.recorded_at < r.day + 86400000)`,
  );
  yield* rows.pluck().iterate();
}
