import type { Database } from 'better-sqlite3';
import type { Invariant } from './invariant.ts';

/**
 * Counts by hour stay when a robot goes, and its samples and events do not: an account's hour counts at
 * least what its robots still have.
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

/** What happens in a fleet happens in its account, and in no other fleet. */
export function* fleetsWithinAccounts(db: Database): Generator<string> {
  const hours = db.prepare<[], string>(
    `SELECT 'the fleets of ' || f.wallet || ' count more than it does in hour ' || a.at
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

/** Amounts in wei do not fit SQLite's integers. */
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
    if (!isWithin) yield `the fleets of ${row.wallet} count more than it does on day ${row.at}`;
  }
}
