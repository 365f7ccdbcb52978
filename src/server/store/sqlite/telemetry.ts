// Stores telemetry samples with everything derived from them.

import type { NewSamples, SampleRecord, TelemetryStore } from '../../ports/telemetry.ts';
import { samplesBytes } from '../../rules/storage.ts';
import type { Db, Tx } from '../db/database.ts';
import { raw, sql } from '../db/sql.ts';
import { lockRobot, markSeen } from '../robots.ts';
import { countSamples } from '../stats.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { SHOWN_COLUMNS, type ShownRow, shownAfter } from '../telemetry/readings.ts';
import {
  type StoredSummary,
  SUMMARY_COLUMNS,
  storedWith,
  summarize,
} from '../telemetry/roll-ups.ts';
import { isSameSample, SAMPLE_COLUMNS } from '../telemetry.ts';

export function telemetryStore({ write }: Db, usage: StorageUsage) {
  return {
    async recordSamples(samples) {
      try {
        const result = await write((tx) => recordInWrite(tx, samples));
        if (result.outcome === 'recorded') usage.add(result.wallet, result.bytes);
        return { outcome: result.outcome };
      } catch (error) {
        if (error instanceof SampleConflict) return { outcome: 'id_conflict', index: error.index };
        throw error;
      }
    },
  } satisfies Partial<TelemetryStore>;
}

/** Thrown inside a write, so that its savepoint undoes the samples before it. */
class SampleConflict extends Error {
  readonly index: number;

  constructor(index: number) {
    super('The sample is stored with other content');
    this.index = index;
  }
}

/** Stores samples with everything derived from them. */
async function recordInWrite(tx: Tx, { robotId, keyHash, samples, now }: NewSamples) {
  const robot = await lockRobot(tx, robotId, keyHash);
  if (robot === null) return { outcome: 'key_revoked' as const };
  const inserted: SampleRecord[] = [];
  for (const [index, sample] of samples.entries()) {
    if (await insertSample(tx, robotId, sample, index)) inserted.push(sample);
  }
  await addToRollups(tx, robotId, inserted);
  await markSeen(tx, robotId, now);
  await showNewest(tx, robotId, inserted, now);
  await countSamples(tx, [{ ...robot, samples: inserted }]);
  return { outcome: 'recorded' as const, wallet: robot.wallet, bytes: samplesBytes(inserted) };
}

/** Returns true if the sample is new. @throws SampleConflict if it is stored with other content. */
async function insertSample(tx: Tx, robotId: string, sample: SampleRecord, index: number) {
  const { recordedAt, id, batteryPct, state, metrics } = sample;
  const inserted = await tx.run(sql`INSERT INTO telemetry
      (robot_id, recorded_at, id, battery_pct, state, metrics)
    VALUES (${robotId}, ${recordedAt}, ${id}, ${batteryPct}, ${state}, ${metrics})
    ON CONFLICT DO NOTHING`);
  if (inserted > 0) return true;
  const stored = await tx.get<SampleRecord>(sql`SELECT ${raw(SAMPLE_COLUMNS)} FROM telemetry
    WHERE robot_id = ${robotId} AND recorded_at = ${recordedAt} AND id = ${id}`);
  if (stored === null || !isSameSample(stored, sample)) throw new SampleConflict(index);
  return false;
}

/** Adds new samples to the roll-ups of their minutes, hours and days. Each is read and written once. */
async function addToRollups(tx: Tx, robotId: string, added: readonly SampleRecord[]) {
  // Not parsed before the write: otherwise all waiting requests would hold their readings in memory.
  for (const { resolution, at, summary: more } of summarize(added)) {
    const stored = await tx.get<StoredSummary>(sql`SELECT ${SUMMARY_COLUMNS} FROM telemetry_rollups
      WHERE robot_id = ${robotId} AND resolution = ${resolution} AND at = ${at}`);
    const summary = storedWith(stored, more);
    await tx.run(sql`INSERT INTO telemetry_rollups (robot_id, resolution, at, ${SUMMARY_COLUMNS})
      VALUES (${robotId}, ${resolution}, ${at}, ${summary.samples}, ${summary.battery},
        ${summary.states}, ${summary.metrics})
      ON CONFLICT DO UPDATE SET samples = excluded.samples, battery = excluded.battery,
        states = excluded.states, metrics = excluded.metrics`);
  }
}

/** Updates battery and state of the robot from new samples. */
async function showNewest(tx: Tx, robotId: string, samples: readonly SampleRecord[], now: number) {
  const shown = await tx.get<ShownRow>(
    sql`SELECT ${SHOWN_COLUMNS} FROM robots WHERE id = ${robotId}`,
  );
  if (shown === null) return;
  const next = shownAfter(shown, samples, now);
  await tx.run(sql`UPDATE robots SET battery_pct = ${next.battery_pct},
    battery_at = ${next.battery_at}, battery_since = ${next.battery_since}, state = ${next.state},
    state_at = ${next.state_at}, state_since = ${next.state_since},
    sample_lag = ${next.sample_lag}, clock_behind = ${next.clock_behind} WHERE id = ${robotId}`);
}
