import type { StatsRecord, StatsStore } from '../../core/telemetry-store.ts';
import { type DayRow, type HourRow, type StatsRobotRow, toStats } from '../stats-rows.ts';
import type { Access } from './access.ts';
import { sql } from './sql.ts';

interface RobotRow extends StatsRobotRow {
  claimed: number;
  verified: number;
}

const findFleet = sql('SELECT FROM fleets WHERE id = $1 AND wallet = $2');
const robotsOf = (column: 'wallet' | 'fleet_id') =>
  sql(`SELECT last_seen_at, battery_pct, state, coalesce(claimed, 0) AS claimed,
      coalesce(verified, 0) AS verified
    FROM robots LEFT JOIN task_counts ON task_counts.robot_id = robots.id
    WHERE robots.${column} = $1`);
const robotsOfAccount = robotsOf('wallet');
const robotsOfFleet = robotsOf('fleet_id');
const readHours = sql(`SELECT at, samples, info, warn, error FROM activity_hours
  WHERE scope = $1 AND at >= $2 ORDER BY at`);
const readDays = sql(`SELECT at, anchors, gas_wei FROM anchor_days
  WHERE scope = $1 AND at >= $2 ORDER BY at`);

/** Reads what was counted when it happened; of the account's robots, which are few, what they show now. */
export function statsStore(access: Access): StatsStore {
  return {
    readStats: ({ wallet, fleetId }, { hoursFrom, daysFrom }) =>
      access.read(async (tx) => {
        if (fleetId !== null && (await tx.first(findFleet, [fleetId, wallet])) === undefined) {
          return null;
        }
        const scope = fleetId ?? wallet;
        const query = fleetId === null ? robotsOfAccount : robotsOfFleet;
        const robots = await tx.rows<RobotRow>(query, [scope]);
        const hours = await tx.rows<HourRow>(readHours, [scope, hoursFrom]);
        const days = await tx.rows<DayRow>(readDays, [scope, daysFrom]);
        return toStats({ robots, tasks: tasksOf(robots), hours, days });
      }),
  };
}

function tasksOf(robots: readonly RobotRow[]): StatsRecord['tasks'] {
  return {
    claimed: robots.reduce((sum, { claimed }) => sum + claimed, 0),
    verified: robots.reduce((sum, { verified }) => sum + verified, 0),
  };
}
