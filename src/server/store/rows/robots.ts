// The columns of robots, and the newest reading among samples.

import type { SampleRecord } from '../../ports/telemetry.ts';

export const ROBOT_COLUMNS = `id, wallet, name, description, fleet_id AS "fleetId", key_hint AS "keyHint",
  created_at AS "createdAt", updated_at AS "updatedAt", last_seen_at AS "lastSeenAt",
  battery_pct AS "batteryPct", state`;

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
