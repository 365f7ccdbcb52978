import type { Database } from 'better-sqlite3';
import { stepMs } from '../../../ports/telemetry.ts';
import {
  Aggregate,
  BATTERY,
  type DayNames,
  dayNames,
  noNames,
  readingsOf,
} from '../../rows/aggregate.ts';
import { DayAggregates } from '../../rows/roll-ups.ts';
import { aggregateSaver } from '../roll-ups.ts';

/**
 * Summaries of minutes beside those of hours and days, packed, and how far retention has come. What the samples
 * still say is counted anew from them; the rest is taken over as it was. Memory is that of one robot's day.
 */
export function telemetrySeries(db: Database): void {
  db.exec(`
    ALTER TABLE telemetry_rollups RENAME TO earlier_rollups;

    -- summary: core/tally-bytes.ts. Minutes go with their samples, hours and days stay.
    CREATE TABLE telemetry_rollups (
      robot_id TEXT NOT NULL,
      resolution TEXT NOT NULL CHECK (resolution IN ('minute', 'hour', 'day')),
      at INTEGER NOT NULL,
      samples INTEGER NOT NULL CHECK (samples > 0),
      summary BLOB NOT NULL,
      PRIMARY KEY (robot_id, resolution, at)
    ) STRICT, WITHOUT ROWID;

    -- names: JSON of what the summaries of the day number, { states, metrics }.
    CREATE TABLE telemetry_names (
      robot_id TEXT NOT NULL,
      day INTEGER NOT NULL,
      names TEXT NOT NULL,
      PRIMARY KEY (robot_id, day)
    ) STRICT, WITHOUT ROWID;

    -- Of the samples recorded before it some are deleted.
    CREATE TABLE telemetry_horizons (
      robot_id TEXT NOT NULL PRIMARY KEY,
      before INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
  `);
  takeOver(db);
  db.exec('DROP TABLE earlier_rollups');
}

/** Samples read at once; each may have 16 KiB of metrics. */
const SAMPLES_AT_ONCE = 500;

interface EarlierRow {
  at: number;
  samples: number;
  summary: string;
}

function takeOver(db: Database): void {
  const nextRobot = db
    .prepare<[string], string>(
      'SELECT robot_id FROM earlier_rollups WHERE robot_id > ? ORDER BY robot_id LIMIT 1',
    )
    .pluck();
  const nextDay = db.prepare<[string, number], EarlierRow>(
    `SELECT at, samples, summary FROM earlier_rollups
     WHERE robot_id = ? AND resolution = 'day' AND at > ? ORDER BY at LIMIT 1`,
  );
  const takeDay = dayTaker(db);
  const saveHorizon = db.prepare<[string, number]>('INSERT INTO telemetry_horizons VALUES (?, ?)');
  for (let robot = nextRobot.get(''); robot !== undefined; robot = nextRobot.get(robot)) {
    let horizon: number | null = null;
    let day = nextDay.get(robot, Number.MIN_SAFE_INTEGER);
    for (; day !== undefined; day = nextDay.get(robot, day.at)) {
      horizon = takeDay(robot, day) ?? horizon;
    }
    if (horizon !== null) saveHorizon.run(robot, horizon);
  }
}

/** Answers the end of the last hour of which samples are gone; null where all are there. */
function dayTaker(db: Database): (robotId: string, day: EarlierRow) => number | null {
  const hoursOf = db.prepare<[string, number, number], EarlierRow>(
    `SELECT at, samples, summary FROM earlier_rollups
     WHERE robot_id = ? AND resolution = 'hour' AND at >= ? AND at < ? ORDER BY at`,
  );
  const readDay = dayReader(db);
  const saved = aggregateSaver(db);
  return (robotId, day) => {
    const hours = hoursOf.all(robotId, day.at, day.at + stepMs.day);
    const names = dayNames(noNames);
    const earlierDay = toAggregate(day, names);
    const earlierHours = hours.map((hour) => ({ at: hour.at, earlier: toAggregate(hour, names) }));
    const counted = readDay(robotId, day.at, names);
    let horizon: number | null = null;
    for (const [resolution, at, aggregate] of counted.all()) {
      saved.aggregate(robotId, resolution, at, aggregate);
    }
    for (const { at, earlier } of earlierHours) {
      if (counted.by('hour').get(at)?.samples === earlier.samples) continue;
      saved.aggregate(robotId, 'hour', at, earlier);
      horizon = at + stepMs.hour;
    }
    if (horizon !== null) saved.aggregate(robotId, 'day', day.at, earlierDay);
    if (names.states.size + names.metrics.size > 0) saved.names(robotId, day.at, names);
    return horizon;
  };
}

interface SampleRow {
  recorded_at: number;
  id: string;
  battery_pct: number | null;
  state: string | null;
  metrics: string;
}

function dayReader(db: Database): (robotId: string, day: number, names: DayNames) => DayAggregates {
  const page = db.prepare<[string, number, string, number, number], SampleRow>(
    `SELECT recorded_at, id, battery_pct, state, metrics FROM telemetry
     WHERE robot_id = ? AND (recorded_at, id) > (?, ?) AND recorded_at < ?
     ORDER BY recorded_at, id LIMIT ?`,
  );
  return (robotId, day, names) => {
    const aggregates = new DayAggregates(names);
    // Every id is greater than ''.
    let last = { recorded_at: day, id: '' };
    for (;;) {
      const rows = page.all(robotId, last.recorded_at, last.id, day + stepMs.day, SAMPLES_AT_ONCE);
      for (const row of rows) {
        const { battery_pct: batteryPct, state, metrics } = row;
        aggregates.add(row.recorded_at, readingsOf({ batteryPct, state, metrics }));
        last = row;
      }
      if (rows.length < SAMPLES_AT_ONCE) return aggregates;
    }
  };
}

type EarlierSpread = [count: number, min: number, max: number, mean: number];

interface EarlierSummary {
  battery: EarlierSpread | null;
  states: [string, number][];
  metrics: [string, EarlierSpread][];
}

/** As far as the day has room for its names. */
function toAggregate({ samples, summary }: EarlierRow, names: DayNames): Aggregate {
  const { battery, states, metrics }: EarlierSummary = JSON.parse(summary);
  const aggregate = new Aggregate();
  aggregate.samples = samples;
  if (battery !== null) addSpread(aggregate, BATTERY, battery);
  for (const [state, count] of states) {
    const number = names.states.take(state);
    if (number !== undefined) aggregate.addState(number, count);
  }
  for (const [name, spread] of metrics) {
    const number = names.metrics.take(name);
    if (number !== undefined) addSpread(aggregate, number + 1, spread);
  }
  return aggregate;
}

function addSpread(
  aggregate: Aggregate,
  place: number,
  [count, min, max, mean]: EarlierSpread,
): void {
  aggregate.addSpread(place, { count, min, max, mean });
}
