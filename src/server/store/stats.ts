// Counts anchors by day, and reads statistics: the stored counts and the current state of the account's robots.

import type { StatsRecord, StatsStore } from '../ports/telemetry.ts';
import { among, first, rows, type StepRunner, type Steps, some } from './engine/steps.ts';
import { beginOf, byInterval } from './rows/roll-ups.ts';

/** The robots of an account or a fleet, whose id is `$1`, with their counts of tasks. */
const robotsOf = (column: 'wallet' | 'fleet_id') =>
  `SELECT r.last_seen_at AS "lastSeenAt", r.battery_pct AS "batteryPct", r.state,
     coalesce(c.claimed, 0) AS claimed, coalesce(c.verified, 0) AS verified
   FROM robots r LEFT JOIN task_counts c ON c.robot_id = r.id WHERE r.${column} = $1`;

export const statsSql = {
  fleet: 'SELECT id FROM fleets WHERE id = $1 AND wallet = $2',
  ofAccount: robotsOf('wallet'),
  ofFleet: robotsOf('fleet_id'),
  hours: `SELECT at, samples, info, warn, error FROM activity_hours
    WHERE scope = $1 AND at >= $2 ORDER BY at`,
  // Locks the hours in the order of their scopes. All robots of an account, on all instances, count in them.
  countActivity: `INSERT INTO activity_hours (scope, at, samples, info, warn, error)
    SELECT g.value ->> 0, (g.value ->> 1)::bigint, (g.value ->> 2)::bigint, (g.value ->> 3)::bigint,
      (g.value ->> 4)::bigint, (g.value ->> 5)::bigint
    FROM json_array_elements($1::json) AS g WHERE true ORDER BY 1, 2
    ON CONFLICT (scope, at) DO UPDATE SET samples = activity_hours.samples + excluded.samples,
      info = activity_hours.info + excluded.info, warn = activity_hours.warn + excluded.warn,
      error = activity_hours.error + excluded.error`,
  // FOR SHARE: a robot cannot leave its fleet, and the fleet cannot be deleted, before this is counted.
  fleetsOf: `SELECT t.id AS "taskId", r.fleet_id AS "fleetId" FROM tasks t
    JOIN robots r ON r.id = t.robot_id WHERE t.id ${among('uuid', 1)} ORDER BY r.id FOR SHARE OF r`,
  day: 'SELECT gas_wei FROM anchor_days WHERE scope = $1 AND at = $2',
  countDay: `INSERT INTO anchor_days (scope, at, anchors, gas_wei) VALUES ($1, $2, $3, $4)
    ON CONFLICT (scope, at) DO UPDATE SET
      anchors = anchor_days.anchors + excluded.anchors, gas_wei = excluded.gas_wei`,
  days: `SELECT at, anchors, gas_wei FROM anchor_days
    WHERE scope = $1 AND at >= $2 ORDER BY at`,
} as const;

type RobotRow = StatsRecord['robots'][number] & StatsRecord['tasks'];
type HourRow = { at: number; samples: number } & StatsRecord['hours'][number]['events'];
type DayRow = { at: number; anchors: number; gas_wei: string };

export function statsStore({ snapshot }: StepRunner): StatsStore {
  return {
    readStats: ({ wallet, fleetId }, { hoursFrom, daysFrom }) =>
      snapshot(function* () {
        if (fleetId !== null && !(yield* some(statsSql.fleet, fleetId, wallet))) return null;
        const scope = fleetId ?? wallet;
        const query = fleetId === null ? statsSql.ofAccount : statsSql.ofFleet;
        const robots = yield* rows<RobotRow>(query, scope);
        const hours = yield* rows<HourRow>(statsSql.hours, scope, hoursFrom);
        const days = yield* rows<DayRow>(statsSql.days, scope, daysFrom);
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
export function* countActivity(counts: readonly Activity[]): Steps<void> {
  const sums = new Map<string, [scope: string, at: number, ...number[]]>();
  for (const { wallet, fleet_id: fleetId, at, ...count } of counts) {
    for (const scope of fleetId === null ? [wallet] : [wallet, fleetId]) {
      const before = sums.get(`${scope} ${at}`) ?? [scope, at];
      const after = activities.map((name, i) => Number(before[2 + i] ?? 0) + (count[name] ?? 0));
      sums.set(`${scope} ${at}`, [scope, at, ...after]);
    }
  }
  if (sums.size > 0) yield* rows(statsSql.countActivity, JSON.stringify([...sums.values()]));
}

/** Groups samples by hour. */
export function* countSamples(
  robots: readonly (CountedIn & { samples: readonly { recordedAt: number }[] })[],
): Steps<void> {
  yield* countActivity(
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
export function* countAnchors(settled: readonly Settled[], at: number): Steps<void> {
  const day = beginOf('day', at);
  const taskIds = JSON.stringify(settled.map(({ taskId }) => taskId));
  type Placed = { taskId: string; fleetId: string | null };
  const placed = yield* rows<Placed>(statsSql.fleetsOf, taskIds);
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
    const before = yield* first<{ gas_wei: string }>(statsSql.day, scope, day);
    const sum = String(BigInt(before?.gas_wei ?? 0) + chargeWei);
    yield* rows(statsSql.countDay, scope, day, anchors, sum);
  }
}
