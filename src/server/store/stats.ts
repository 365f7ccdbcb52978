// Counts anchors by day, and reads statistics: the stored counts and the current state of the account's robots.

import type { StatsRecord, StatsStore } from '../ports/telemetry.ts';
import type { Db, Tx } from './db/database.ts';
import { among, elements, onPostgres } from './db/dialect.ts';
import { sql } from './db/sql.ts';
import { findFleet } from './fleets.ts';
import { beginOf, byInterval } from './telemetry/roll-ups.ts';

type RobotRow = StatsRecord['robots'][number] & StatsRecord['tasks'];
type HourRow = { at: number; samples: number } & StatsRecord['hours'][number]['events'];
type DayRow = { at: number; anchors: number; gas_wei: string };

export function statsStore({ snapshot }: Db): StatsStore {
  return {
    readStats: ({ wallet, fleetId }, { hoursFrom, daysFrom }) =>
      snapshot(async (tx) => {
        if (fleetId !== null && (await findFleet(tx, fleetId, wallet)) === null) return null;
        const isCounted =
          fleetId === null ? sql`r.wallet = ${wallet}` : sql`r.fleet_id = ${fleetId}`;
        const robots = await tx.all<RobotRow>(sql`
          SELECT r.last_seen_at AS "lastSeenAt", r.battery_pct AS "batteryPct", r.state,
            coalesce(c.claimed, 0) AS claimed, coalesce(c.verified, 0) AS verified
          FROM robots r LEFT JOIN task_counts c ON c.robot_id = r.id WHERE ${isCounted}`);
        const scope = fleetId ?? wallet;
        const hours = await tx.all<HourRow>(sql`
          SELECT at, samples, info, warn, error FROM activity_hours
          WHERE scope = ${scope} AND at >= ${hoursFrom} ORDER BY at`);
        const days = await tx.all<DayRow>(sql`SELECT at, anchors, gas_wei FROM anchor_days
          WHERE scope = ${scope} AND at >= ${daysFrom} ORDER BY at`);
        return {
          robots: robots.map(({ claimed: _, verified: __, ...robot }) => robot),
          tasks: {
            claimed: robots.reduce((sum, { claimed }) => sum + claimed, 0),
            verified: robots.reduce((sum, { verified }) => sum + verified, 0),
          },
          hours: hours.map(({ at, samples, ...events }) => ({ at, samples, events })),
          days: days.map(({ gas_wei, ...day }) => ({ ...day, gasWei: BigInt(gas_wei) })),
        };
      }),
  };
}

/** The scopes of a count: the account, and the robot's fleet if it is in one. */
export interface CountedIn {
  wallet: string;
  fleet_id: string | null;
}

/** What a robot did in one hour. */
type Activity = CountedIn & { at: number } & Partial<Record<(typeof activities)[number], number>>;

const activities = ['samples', 'info', 'warn', 'error'] as const;

/** Counts samples and events by hour. Call it last inside a write: all robots of an account lock these rows. */
export async function countActivity(tx: Tx, counts: readonly Activity[]): Promise<void> {
  const sums = new Map<string, [scope: string, at: number, ...number[]]>();
  for (const { wallet, fleet_id: fleetId, at, ...count } of counts) {
    for (const scope of fleetId === null ? [wallet] : [wallet, fleetId]) {
      const before = sums.get(`${scope} ${at}`) ?? [scope, at];
      const after = activities.map((name, i) => Number(before[2 + i] ?? 0) + (count[name] ?? 0));
      sums.set(`${scope} ${at}`, [scope, at, ...after]);
    }
  }
  if (sums.size === 0) return;
  // Locks the hours in the order of their scopes. All robots of an account, on all instances, count in them.
  await tx.run(sql`INSERT INTO activity_hours (scope, at, samples, info, warn, error)
    SELECT g.value ->> 0, CAST(g.value ->> 1 AS bigint), CAST(g.value ->> 2 AS bigint),
      CAST(g.value ->> 3 AS bigint), CAST(g.value ->> 4 AS bigint), CAST(g.value ->> 5 AS bigint)
    FROM ${elements([...sums.values()])} AS g WHERE true ORDER BY 1, 2
    ON CONFLICT (scope, at) DO UPDATE SET samples = activity_hours.samples + excluded.samples,
      info = activity_hours.info + excluded.info, warn = activity_hours.warn + excluded.warn,
      error = activity_hours.error + excluded.error`);
}

/** Groups samples by hour. */
export async function countSamples(
  tx: Tx,
  robots: readonly (CountedIn & { samples: readonly { recordedAt: number }[] })[],
): Promise<void> {
  await countActivity(
    tx,
    robots.flatMap(({ wallet, fleet_id, samples }) =>
      [...byInterval('hour', samples)].map(([at, ofHour]) => {
        return { wallet, fleet_id, at, samples: ofHour.length };
      }),
    ),
  );
}

interface Settled {
  wallet: string;
  taskId: string;
  chargeWei: bigint;
}

/**
 * Counts settled anchors and their charges by day (UTC), for the account and for the robot's fleet if it is in one.
 * Call it inside a write that has locked the accounts. Locks the robots by id.
 */
export async function countAnchors(tx: Tx, settled: readonly Settled[], at: number): Promise<void> {
  const day = beginOf('day', at);
  const taskIds = settled.map(({ taskId }) => taskId);
  type Placed = { taskId: string; fleetId: string | null };
  // FOR SHARE: a robot cannot leave its fleet, and the fleet cannot be deleted, before this is counted.
  const placed = await tx.all<Placed>(sql`SELECT t.id AS "taskId", r.fleet_id AS "fleetId"
    FROM tasks t JOIN robots r ON r.id = t.robot_id
    WHERE t.id ${among('uuid', taskIds)} ORDER BY r.id ${onPostgres(sql`FOR SHARE OF r`)}`);
  const fleetOf = new Map(placed.map(({ taskId, fleetId }) => [taskId, fleetId]));
  const counts = new Map<string, { anchors: number; chargeWei: bigint }>();
  for (const { wallet, taskId, chargeWei } of settled) {
    const fleet = fleetOf.get(taskId) ?? null;
    for (const scope of fleet === null ? [wallet] : [wallet, fleet]) {
      const before = counts.get(scope) ?? { anchors: 0, chargeWei: 0n };
      const after = { anchors: before.anchors + 1, chargeWei: before.chargeWei + chargeWei };
      counts.set(scope, after);
    }
  }
  for (const [scope, { anchors, chargeWei }] of counts) {
    const before = await tx.get<{ gas_wei: string }>(
      sql`SELECT gas_wei FROM anchor_days WHERE scope = ${scope} AND at = ${day}`,
    );
    const sum = String(BigInt(before?.gas_wei ?? 0) + chargeWei);
    await tx.run(sql`INSERT INTO anchor_days (scope, at, anchors, gas_wei)
      VALUES (${scope}, ${day}, ${anchors}, ${sum})
      ON CONFLICT (scope, at) DO UPDATE SET
        anchors = anchor_days.anchors + excluded.anchors, gas_wei = excluded.gas_wei`);
  }
}
