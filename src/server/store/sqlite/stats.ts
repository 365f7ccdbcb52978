// Counts activity by hour, when it happens.

import type { Database } from 'better-sqlite3';

/** The scopes of a count: the account, and the robot's fleet if it is in one. */
export interface CountedIn {
  wallet: string;
  fleet_id: string | null;
}

type Activity = 'samples' | 'info' | 'warn' | 'error';

/** Counts samples and events by hour. Call it inside a write. */
export function activityHours(
  writer: Database,
): (where: CountedIn, activity: Activity, at: number, count: number) => void {
  const counting = (activity: Activity) =>
    writer.prepare<[string, number, number]>(
      `INSERT INTO activity_hours (scope, at, ${activity}) VALUES (?, ?, ?)
       ON CONFLICT (scope, at) DO UPDATE SET ${activity} = ${activity} + excluded.${activity}`,
    );
  const add = {
    samples: counting('samples'),
    info: counting('info'),
    warn: counting('warn'),
    error: counting('error'),
  };
  return ({ wallet, fleet_id: fleetId }, activity, at, count) => {
    add[activity].run(wallet, at, count);
    if (fleetId !== null) add[activity].run(fleetId, at, count);
  };
}
