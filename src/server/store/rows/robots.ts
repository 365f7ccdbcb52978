// Finds the newest reading among samples.

import type { SampleRecord } from '../../ports/telemetry.ts';

/**
 * The newest non-null reading. Times in the future count as `now`: a robot whose clock was ahead must not hide the
 * readings it sends after its clock was corrected.
 */
export function newest<Value>(
  samples: readonly SampleRecord[],
  now: number,
  reading: (sample: SampleRecord) => Value | null,
) {
  let found: { value: Value; at: number } | null = null;
  for (const sample of samples) {
    const value = reading(sample);
    const at = Math.min(sample.recordedAt, now);
    if (value !== null && (found === null || at >= found.at)) found = { value, at };
  }
  return found;
}
