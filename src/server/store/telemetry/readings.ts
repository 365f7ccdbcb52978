// Computes a robot's newest readings, and since when they have been the same.

import { limits } from '../../../protocol/limits.ts';
import type { SampleRecord } from '../../ports/telemetry.ts';
import { raw } from '../db/sql.ts';

/** Columns of a robot. Those of a reading are null until the first sample that has it. */
export interface ShownRow {
  battery_pct: number | null;
  battery_at: number | null;
  battery_since: number | null;
  state: string | null;
  state_at: number | null;
  state_since: number | null;
  /** How late the newest sample of the last request was, in ms. */
  sample_lag: number | null;
  clock_behind: number | null;
}

export const SHOWN_COLUMNS = raw(
  'battery_pct, battery_at, battery_since, state, state_at, state_since, sample_lag, clock_behind',
);

type Reading<Value> = [value: Value | null, at: number | null, since: number | null];

const isLow = (pct: number) => pct < limits.lowBatteryPct;

/** The row after new samples. Batteries on the same side of `limits.lowBatteryPct` are the same. */
export function shownAfter(row: ShownRow, samples: readonly SampleRecord[], now: number): ShownRow {
  const batteryBefore: Reading<number> = [row.battery_pct, row.battery_at, row.battery_since];
  const stateBefore: Reading<string> = [row.state, row.state_at, row.state_since];
  const battery = newest(batteryBefore, samples, now, (sample) => sample.batteryPct, isLow);
  const state = newest(stateBefore, samples, now, (sample) => sample.state, String);
  const [battery_pct, battery_at, battery_since] = battery;
  const [shown, state_at, state_since] = state;
  const lag = lagAfter(row, samples, now);
  return { battery_pct, battery_at, battery_since, state: shown, state_at, state_since, ...lag };
}

/** A clock that is less behind is not reported, in ms. */
const BEHIND_MS = 5 * 60_000;
/** Network and sampling change the lag of a wrong clock by this much at most, in ms. */
const STEADY_MS = 3_000;

/** Samples that are late by the same time again come from a clock that is behind. Those of a backlog catch up. */
function lagAfter(row: ShownRow, samples: readonly SampleRecord[], now: number) {
  const { sample_lag: before, clock_behind } = row;
  if (samples.length === 0) return { sample_lag: before, clock_behind };
  const sample_lag = now - Math.max(...samples.map(({ recordedAt }) => recordedAt));
  const isSteady = before !== null && Math.abs(sample_lag - before) <= STEADY_MS;
  return { sample_lag, clock_behind: isSteady && sample_lag >= BEHIND_MS ? sample_lag : null };
}

/**
 * The newest reading after new samples. Readings of the same `kind` count as the same. Times in the future count as
 * `now`: a robot whose clock was ahead must not hide the readings it sends after its clock was corrected. A late sample
 * that differs moves `since` on, to the next late sample that is the same or to the newest reading. Late samples never
 * move it back: which samples lie between is not known here.
 */
function newest<Value>(
  stored: Reading<Value>,
  samples: readonly SampleRecord[],
  now: number,
  read: (sample: SampleRecord) => Value | null,
  kind: (value: Value) => unknown,
): Reading<Value> {
  let [value, at, since] = stored;
  let differed = false;
  const timeOf = (sample: SampleRecord) => Math.min(sample.recordedAt, now);
  for (const sample of samples.toSorted((a, b) => timeOf(a) - timeOf(b))) {
    const next = read(sample);
    if (next === null) continue;
    const time = timeOf(sample);
    const isSame = value !== null && kind(value) === kind(next);
    if (at === null || time >= at) [value, at, since] = [next, time, isSame ? since : time];
    else if (isSame && differed) [since, differed] = [time, false];
    else if (!isSame && time >= Number(since)) [since, differed] = [at, true];
  }
  return [value, at, since];
}
