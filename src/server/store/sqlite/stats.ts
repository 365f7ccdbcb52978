// Counts activity by hour and anchors by day, when they happen.

import type { Database } from 'better-sqlite3';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

/** The scopes of a count: the account, and the robot's fleet if it is in one. */
export interface CountedIn {
  wallet: string;
  fleet_id: string | null;
}

type Activity = 'samples' | 'info' | 'warn' | 'error';

interface Settled {
  wallet: string;
  taskId: string;
  chargeWei: bigint;
}

/** The start of the hour (UTC) that contains the instant, in ms. */
export function hourOf(instant: number): number {
  return Math.floor(instant / HOUR_MS) * HOUR_MS;
}

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

/** Counts settled anchors and their charges by day (UTC). Call it inside a write. */
export function anchorDays(writer: Database): (settled: readonly Settled[], at: number) => void {
  const fleetOf = writer.prepare<[string], { fleet_id: string | null }>(
    `SELECT robots.fleet_id FROM tasks JOIN robots ON robots.id = tasks.robot_id
     WHERE tasks.id = ?`,
  );
  const gasOf = writer.prepare<[string, number], { gas_wei: string }>(
    'SELECT gas_wei FROM anchor_days WHERE scope = ? AND at = ?',
  );
  const save = writer.prepare<[string, number, number, string]>(
    `INSERT INTO anchor_days (scope, at, anchors, gas_wei) VALUES (?, ?, ?, ?)
     ON CONFLICT (scope, at) DO UPDATE SET
       anchors = anchors + excluded.anchors, gas_wei = excluded.gas_wei`,
  );
  return (settled, at) => {
    const day = Math.floor(at / DAY_MS) * DAY_MS;
    const counts = new Map<string, { anchors: number; chargeWei: bigint }>();
    for (const { wallet, taskId, chargeWei } of settled) {
      const fleetId = fleetOf.get(taskId)?.fleet_id ?? null;
      for (const scope of fleetId === null ? [wallet] : [wallet, fleetId]) {
        const before = counts.get(scope) ?? { anchors: 0, chargeWei: 0n };
        counts.set(scope, {
          anchors: before.anchors + 1,
          chargeWei: before.chargeWei + chargeWei,
        });
      }
    }
    for (const [scope, { anchors, chargeWei }] of counts) {
      const before = BigInt(gasOf.get(scope, day)?.gas_wei ?? 0);
      save.run(scope, day, anchors, String(before + chargeWei));
    }
  };
}
