import type { Database } from 'better-sqlite3';
import type { SampleRecord } from '../../core/telemetry-store.ts';
import { newest } from '../newest-reading.ts';
import { sightings } from './sightings.ts';

/** Brings what the robot shows up to date with its new samples: `TelemetryStore.recordSamples`. */
export function showNewest(
  writer: Database,
): (robotId: string, samples: readonly SampleRecord[], now: number) => void {
  const seen = sightings(writer);
  const showing = (column: 'battery' | 'state', value: 'battery_pct' | 'state') =>
    writer.prepare<{ robotId: string; value: string | number; at: number }>(
      `UPDATE robots SET ${value} = :value, ${column}_at = :at
       WHERE id = :robotId AND (${column}_at IS NULL OR ${column}_at <= :at)`,
    );
  const showBattery = showing('battery', 'battery_pct');
  const showState = showing('state', 'state');
  return (robotId, samples, now) => {
    seen(robotId, now);
    const battery = newest(samples, now, ({ batteryPct }) => batteryPct);
    if (battery !== null) showBattery.run({ robotId, ...battery });
    const state = newest(samples, now, (sample) => sample.state);
    if (state !== null) showState.run({ robotId, ...state });
  };
}
