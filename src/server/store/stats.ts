// Reads statistics: the stored counts, and the current state of the account's robots.

import type { StatsRecord, StatsStore } from '../ports/telemetry.ts';
import { rows, type StepRunner, some } from './steps.ts';

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
