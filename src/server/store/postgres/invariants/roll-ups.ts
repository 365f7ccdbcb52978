// Invariants of statistics and telemetry roll-ups in a PostgreSQL database.

import { stepMs } from '../../../ports/telemetry.ts';
import { type RobotDay, startDay, violationsOfDay } from '../../invariants/telemetry.ts';
import { noNames, readingsOf, type StoredNames } from '../../rows/aggregate.ts';
import { beginOf } from '../../rows/roll-ups.ts';
import type { Queries } from '../engine/connections.ts';
import { sql } from '../engine/sql.ts';
import type { RollupRow } from '../roll-ups.ts';
import { type Invariant, scan, selecting } from './scan.ts';

export const activityInvariants: Record<string, Invariant> = {
  // The counts of an account's fleets add up to at most those of the account.
  fleets_within_accounts: selecting(`
    SELECT 'the fleets of ' || f.wallet || ' count more than the account in hour ' || a.at
    FROM fleets f JOIN activity_hours a ON a.scope = f.id::text
    LEFT JOIN activity_hours w ON w.scope = f.wallet AND w.at = a.at
    GROUP BY f.wallet, a.at, w.samples, w.info, w.warn, w.error
    HAVING sum(a.samples) > coalesce(w.samples, 0) OR sum(a.info) > coalesce(w.info, 0)
      OR sum(a.warn) > coalesce(w.warn, 0) OR sum(a.error) > coalesce(w.error, 0)
    UNION ALL
    SELECT 'the fleets of ' || f.wallet || ' count more than the account on day ' || d.at
    FROM fleets f JOIN anchor_days d ON d.scope = f.id::text
    LEFT JOIN anchor_days w ON w.scope = f.wallet AND w.at = d.at
    GROUP BY f.wallet, d.at, w.anchors, w.gas_wei
    HAVING sum(d.anchors) > coalesce(w.anchors, 0) OR sum(d.gas_wei) > coalesce(w.gas_wei, 0)`),

  // The hourly counts of an account cover at least the samples and events of its robots. They may be higher, because
  // deleting a robot deletes its samples and events but not the counts.
  activity_covers_robots: selecting(`
    SELECT 'hour ' || seen.at || ' of ' || seen.wallet || ' counts too few samples' FROM (
      SELECT r.wallet, u.at, sum(u.samples) AS samples FROM telemetry_rollups u
      JOIN robots r ON r.id = u.robot_id WHERE u.resolution = 'hour' GROUP BY r.wallet, u.at) seen
    LEFT JOIN activity_hours a ON a.scope = seen.wallet AND a.at = seen.at
    WHERE coalesce(a.samples, 0) < seen.samples
    UNION ALL
    SELECT 'hour ' || seen.at || ' of ' || seen.wallet || ' counts too few events' FROM (
      SELECT r.wallet, e.created_at - e.created_at % 3600000 AS at,
        count(*) FILTER (WHERE e.severity = 'info') AS info,
        count(*) FILTER (WHERE e.severity = 'warn') AS warn,
        count(*) FILTER (WHERE e.severity = 'error') AS error
      FROM events e JOIN robots r ON r.id = e.robot_id GROUP BY 1, 2) seen
    LEFT JOIN activity_hours a ON a.scope = seen.wallet AND a.at = seen.at
    WHERE coalesce(a.info, 0) < seen.info OR coalesce(a.warn, 0) < seen.warn
      OR coalesce(a.error, 0) < seen.error`),

  anchor_days_follow_ledger: selecting(`
    SELECT 'day ' || spent.day || ' of ' || spent.wallet || ' has ' || spent.anchors ||
      ' anchors for ' || spent.gas_wei || ' wei in the ledger' FROM (
      SELECT e.wallet, e.at - e.at % 86400000 AS day, count(*) AS anchors,
        sum(-r.gas_wei - e.gas_wei) AS gas_wei
      FROM ledger e
      JOIN ledger r ON r.task_id = e.task_id AND r.cycle = e.cycle AND r.kind = 'reserve'
      WHERE e.kind = 'settle' GROUP BY 1, 2) spent
    LEFT JOIN anchor_days d ON d.scope = spent.wallet AND d.at = spent.day
    WHERE d.anchors IS DISTINCT FROM spent.anchors OR d.gas_wei <> spent.gas_wei`),
};

interface SampleRow {
  robot_id: string;
  recorded_at: number;
  battery_pct: number | null;
  state: string | null;
  metrics: string;
}

/** Existing robots only. Retention is about to delete the rest. */
const LIVE = 'robot_id IN (SELECT id FROM robots)';

const readNotes = sql(`SELECT
  (SELECT names FROM telemetry_names WHERE robot_id = $1 AND day = $2) AS names,
  (SELECT before FROM telemetry_horizons WHERE robot_id = $1) AS horizon`);
const readStored = sql(`SELECT resolution, at, samples, summary FROM telemetry_rollups
  WHERE robot_id = $1 AND resolution IN ('minute', 'hour', 'day') AND at >= $2 AND at < $3`);

interface CheckedDay extends RobotDay {
  horizon: number | null;
}

/** Compares roll-ups and samples in both directions, except what retention deleted. Holds one robot's day at a time. */
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
    open.aggregates.add(row.recorded_at, readingsOf({ batteryPct, state, metrics }));
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

/** Selects roll-ups of days without samples, which the comparison by day does not visit. */
const rollupsWithoutSamples: Invariant = selecting(`
  SELECT 'the ' || r.resolution || ' ' || r.at || ' of robot ' || r.robot_id || ' has no samples'
  FROM (SELECT robot_id, resolution, at, at - (at % 86400000 + 86400000) % 86400000 AS day
    FROM telemetry_rollups WHERE ${LIVE}) r
  LEFT JOIN telemetry_horizons h ON h.robot_id = r.robot_id
  WHERE (h.before IS NULL OR r.at >= h.before) AND NOT EXISTS (
    SELECT FROM telemetry t WHERE t.robot_id = r.robot_id
      AND t.recorded_at >= r.day AND t.recorded_at < r.day + 86400000)`);
