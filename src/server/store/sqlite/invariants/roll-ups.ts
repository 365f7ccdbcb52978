// Invariants of statistics and telemetry roll-ups in a SQLite database.

import type { Database } from 'better-sqlite3';
import { stepMs } from '../../../ports/telemetry.ts';
import { type RobotDay, startDay, violationsOfDay } from '../../invariants/telemetry.ts';
import { readingsOf } from '../../rows/aggregate.ts';
import { beginOf } from '../../rows/roll-ups.ts';
import { namesReader, type RollupRow } from '../roll-ups.ts';
import type { Invariant } from './records.ts';

interface SettledRow {
  wallet: string;
  day: number;
  returned: string;
  reserved: string;
}

interface Spent {
  wallet: string;
  day: number;
  anchors: number;
  gasWei: bigint;
}

/** Yields what each account spent per day (UTC), from the ledger. */
function* spentByDay(db: Database): Generator<Spent> {
  const settled = db.prepare<[], SettledRow>(
    `SELECT e.wallet, e.at - e.at % 86400000 AS day, e.gas_wei AS returned, r.gas_wei AS reserved
     FROM ledger e
     JOIN ledger r ON r.task_id = e.task_id AND r.cycle = e.cycle AND r.kind = 'reserve'
     WHERE e.kind = 'settle' ORDER BY e.wallet, day`,
  );
  let spent: Spent | undefined;
  for (const { wallet, day, returned, reserved } of settled.iterate()) {
    if (spent?.wallet !== wallet || spent.day !== day) {
      if (spent !== undefined) yield spent;
      spent = { wallet, day, anchors: 0, gasWei: 0n };
    }
    spent.anchors += 1;
    spent.gasWei += -BigInt(reserved) - BigInt(returned);
  }
  if (spent !== undefined) yield spent;
}

export function* anchorDaysFollowLedger(db: Database): Generator<string> {
  const counted = db.prepare<[string, number], { anchors: number; gas_wei: string }>(
    'SELECT anchors, gas_wei FROM anchor_days WHERE scope = ? AND at = ?',
  );
  for (const { wallet, day, anchors, gasWei } of spentByDay(db)) {
    const row = counted.get(wallet, day);
    if (row?.anchors !== anchors || BigInt(row.gas_wei) !== gasWei) {
      yield `day ${day} of ${wallet} has ${anchors} anchors for ${gasWei} wei in the ledger`;
    }
  }
}

/**
 * The hourly counts of an account cover at least the samples and events of its robots. They may be higher, because
 * deleting a robot deletes its samples and events but not the counts.
 */
export const activityCoversRobots: Invariant = (db) =>
  db
    .prepare<[], string>(
      `SELECT 'hour ' || seen.at || ' of ' || seen.wallet || ' counts too few samples' FROM (
         SELECT r.wallet, u.at, sum(u.samples) AS samples FROM telemetry_rollups u
         JOIN robots r ON r.id = u.robot_id WHERE u.resolution = 'hour' GROUP BY r.wallet, u.at) seen
       LEFT JOIN activity_hours a ON a.scope = seen.wallet AND a.at = seen.at
       WHERE coalesce(a.samples, 0) < seen.samples
       UNION ALL
       SELECT 'hour ' || seen.at || ' of ' || seen.wallet || ' counts too few events' FROM (
         SELECT r.wallet, e.created_at - e.created_at % 3600000 AS at, sum(e.severity = 'info') AS info,
           sum(e.severity = 'warn') AS warn, sum(e.severity = 'error') AS error
         FROM events e JOIN robots r ON r.id = e.robot_id GROUP BY 1, 2) seen
       LEFT JOIN activity_hours a ON a.scope = seen.wallet AND a.at = seen.at
       WHERE coalesce(a.info, 0) < seen.info OR coalesce(a.warn, 0) < seen.warn
         OR coalesce(a.error, 0) < seen.error`,
    )
    .pluck()
    .iterate();

/** The counts of an account's fleets add up to at most those of the account. */
export function* fleetsWithinAccounts(db: Database): Generator<string> {
  const hours = db.prepare<[], string>(
    `SELECT 'the fleets of ' || f.wallet || ' count more than the account in hour ' || a.at
     FROM fleets f JOIN activity_hours a ON a.scope = f.id
     LEFT JOIN activity_hours w ON w.scope = f.wallet AND w.at = a.at
     GROUP BY f.wallet, a.at
     HAVING sum(a.samples) > coalesce(w.samples, 0) OR sum(a.info) > coalesce(w.info, 0)
       OR sum(a.warn) > coalesce(w.warn, 0) OR sum(a.error) > coalesce(w.error, 0)`,
  );
  yield* hours.pluck().iterate();
  yield* fleetDaysWithinAccounts(db);
}

interface FleetDayRow {
  wallet: string;
  at: number;
  anchors: number;
  gas_wei: string;
  account_anchors: number | null;
  account_gas_wei: string | null;
}

/** Sums wei in code: they do not fit SQLite's integers. */
function* fleetDaysWithinAccounts(db: Database): Generator<string> {
  const days = db.prepare<[], FleetDayRow>(
    `SELECT f.wallet, d.at, sum(d.anchors) AS anchors, group_concat(d.gas_wei, ' ') AS gas_wei,
       w.anchors AS account_anchors, w.gas_wei AS account_gas_wei
     FROM fleets f JOIN anchor_days d ON d.scope = f.id
     LEFT JOIN anchor_days w ON w.scope = f.wallet AND w.at = d.at
     GROUP BY f.wallet, d.at`,
  );
  for (const row of days.iterate()) {
    const gasWei = row.gas_wei.split(' ').reduce((sum, amount) => sum + BigInt(amount), 0n);
    const isWithin =
      row.anchors <= (row.account_anchors ?? 0) && gasWei <= BigInt(row.account_gas_wei ?? 0);
    if (!isWithin) yield `the fleets of ${row.wallet} count more than the account on day ${row.at}`;
  }
}

interface SampleRow {
  robot_id: string;
  recorded_at: number;
  battery_pct: number | null;
  state: string | null;
  metrics: string;
}

/** Existing robots only. Retention is about to delete the rest. */
const LIVE = 'robot_id IN (SELECT id FROM robots)';

/** The start of the day that contains `at`, also before 1970. */
const DAY_OF_AT = 'at - (at % 86400000 + 86400000) % 86400000';

/** Compares roll-ups and samples in both directions, except what retention deleted. Holds one robot's day at a time. */
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
    open.aggregates.add(row.recorded_at, readingsOf({ batteryPct, state, metrics }));
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

/** Yields roll-ups of days without samples, which the comparison by day does not visit. */
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
