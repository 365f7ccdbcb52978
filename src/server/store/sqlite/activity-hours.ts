import type { Database } from 'better-sqlite3';

const HOUR_MS = 60 * 60_000;

/** Where something is counted: the account, and the fleet if the robot is in one. */
export interface CountedIn {
  wallet: string;
  fleet_id: string | null;
}

export type Activity = 'samples' | 'info' | 'warn' | 'error';

/** Begin of the hour (UTC). */
export function hourOf(instant: number): number {
  return Math.floor(instant / HOUR_MS) * HOUR_MS;
}

/** Counts samples and events by hour; must run inside a write. */
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
