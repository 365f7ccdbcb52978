import type { SampleRecord } from '../core/telemetry-store.ts';

export interface Newest<Value> {
  value: Value;
  at: number;
}

/** A clock ahead must not hide what comes after it is set right, so its times count as now. */
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
