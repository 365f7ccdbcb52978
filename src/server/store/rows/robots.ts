// Converts rows of robots, and finds the newest reading among samples.

import type { RobotRecord } from '../../ports/robots.ts';
import type { SampleRecord } from '../../ports/telemetry.ts';

export interface RobotRow {
  id: string;
  wallet: string;
  name: string;
  description: string | null;
  fleet_id: string | null;
  key_hint: string | null;
  created_at: number;
  updated_at: number;
  last_seen_at: number | null;
  battery_pct: number | null;
  state: string | null;
}

export const ROBOT_COLUMNS = `id, wallet, name, description, fleet_id, key_hint, created_at, updated_at,
  last_seen_at, battery_pct, state`;

export function toRobot(row: RobotRow): RobotRecord {
  return {
    id: row.id,
    wallet: row.wallet,
    name: row.name,
    description: row.description,
    fleetId: row.fleet_id,
    keyHint: row.key_hint,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    lastSeenAt: row.last_seen_at,
    batteryPct: row.battery_pct,
    state: row.state,
  };
}

/** The first 8 hex digits of the key's SHA-256. */
export function keyHint(keyHash: string): string {
  return keyHash.replace(/^0x/, '').slice(0, 8);
}

export interface Newest<Value> {
  value: Value;
  at: number;
}

/**
 * The newest non-null reading. Times in the future count as `now`: a robot whose clock was ahead must not hide the
 * readings it sends after its clock was corrected.
 */
export function newest<Value>(
  samples: readonly SampleRecord[],
  now: number,
  reading: (sample: SampleRecord) => Value | null,
): Newest<Value> | null {
  let found: Newest<Value> | null = null;
  for (const sample of samples) {
    const value = reading(sample);
    const at = Math.min(sample.recordedAt, now);
    if (value !== null && (found === null || at >= found.at)) found = { value, at };
  }
  return found;
}
