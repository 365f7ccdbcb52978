import type { StatsRecord, StatsStore } from '../../core/telemetry-store.ts';
import { type DayRow, type HourRow, type StatsRobotRow, toStats } from '../stats-rows.ts';
import type { Access } from './access.ts';

/** Reads what was counted when it happened; of the account's robots, which are few, what they show now. */
export function statsStore({ reader, read }: Access): StatsStore {
  const fleet = reader.prepare<[string, string]>(
    'SELECT 1 FROM fleets WHERE id = ? AND wallet = ?',
  );
  const ofRobots = (column: 'wallet' | 'fleet_id') => ({
    robots: reader.prepare<[string], StatsRobotRow>(
      `SELECT last_seen_at, battery_pct, state FROM robots WHERE ${column} = ?`,
    ),
    tasks: reader.prepare<[string], StatsRecord['tasks']>(
      `SELECT coalesce(sum(c.claimed), 0) AS claimed, coalesce(sum(c.verified), 0) AS verified
       FROM robots r CROSS JOIN task_counts c ON c.robot_id = r.id WHERE r.${column} = ?`,
    ),
  });
  const ofAccount = ofRobots('wallet');
  const ofFleet = ofRobots('fleet_id');
  const hours = reader.prepare<[string, number], HourRow>(
    `SELECT at, samples, info, warn, error FROM activity_hours
     WHERE scope = ? AND at >= ? ORDER BY at`,
  );
  const days = reader.prepare<[string, number], DayRow>(
    'SELECT at, anchors, gas_wei FROM anchor_days WHERE scope = ? AND at >= ? ORDER BY at',
  );

  return {
    readStats: ({ wallet, fleetId }, { hoursFrom, daysFrom }) =>
      read(() => {
        if (fleetId !== null && fleet.get(fleetId, wallet) === undefined) return null;
        const scope = fleetId ?? wallet;
        const { robots, tasks } = fleetId === null ? ofAccount : ofFleet;
        return toStats({
          robots: robots.all(scope),
          tasks: tasks.get(scope) ?? { claimed: 0, verified: 0 },
          hours: hours.all(scope, hoursFrom),
          days: days.all(scope, daysFrom),
        });
      }),
  };
}
