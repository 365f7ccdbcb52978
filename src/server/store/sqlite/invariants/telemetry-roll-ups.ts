import type { Database } from 'better-sqlite3';
import { type DayNames, dayNames, readingsOf } from '../../../core/day-names.ts';
import { agree, type Tally } from '../../../core/tally.ts';
import { decodeTally } from '../../../core/tally-bytes.ts';
import { stepMs } from '../../../core/telemetry-store.ts';
import { beginOf, DayTallies, resolutions } from '../../day-tallies.ts';
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
      const tallies = new DayTallies(dayNames(namesOf(robotId, day)));
      open = { robotId, day, tallies, held: heldIn(tallies.names) };
    }
    open.tallies.add(row.recorded_at, readingsOf({ batteryPct, state, metrics }));
  }
  if (open !== undefined) yield* violationsOfDay(open);
  yield* rollupsWithoutSamples(db);
}

interface RobotDay {
  robotId: string;
  day: number;
  tallies: DayTallies;
  /** How many names the day is stored with. */
  held: number;
}

function heldIn({ states, metrics }: DayNames): number {
  return states.size + metrics.size;
}

function dayComparison(db: Database): (day: RobotDay) => Generator<string> {
  const horizonOf = db
    .prepare<[string], number>('SELECT before FROM telemetry_horizons WHERE robot_id = ?')
    .pluck();
  const stored = db.prepare<[string, string, number, number], RollupRow>(
    `SELECT at, samples, summary FROM telemetry_rollups
     WHERE robot_id = ? AND resolution = ? AND at >= ? AND at < ?`,
  );
  return function* ({ robotId, day, tallies, held }) {
    const horizon = horizonOf.get(robotId) ?? Number.NEGATIVE_INFINITY;
    if (day >= horizon && heldIn(tallies.names) > held) {
      yield `day ${day} of robot ${robotId} has names that are not held`;
    }
    for (const resolution of resolutions) {
      const rows = stored.all(robotId, resolution, day, day + stepMs.day);
      const unseen = new Map(rows.map((row) => [row.at, row]));
      for (const [at, counted] of tallies.by(resolution)) {
        const row = unseen.get(at);
        unseen.delete(at);
        if (at < horizon && (resolution === 'minute' || counted.samples <= (row?.samples ?? 0))) {
          continue;
        }
        if (row === undefined || !saysTheSame(row, counted)) {
          yield `the ${resolution} ${at} of robot ${robotId} does not say what its samples do`;
        }
      }
      for (const at of unseen.keys()) {
        if (at >= horizon) yield `the ${resolution} ${at} of robot ${robotId} has no samples`;
      }
    }
  };
}

function saysTheSame({ samples, summary }: RollupRow, counted: Tally): boolean {
  try {
    return agree(counted, decodeTally(samples, summary));
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
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
