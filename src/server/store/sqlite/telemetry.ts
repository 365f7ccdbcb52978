// Stores telemetry samples with everything derived from them, and lists samples and roll-ups.

import type { NewSamples, SampleRecord, TelemetryStore } from '../../ports/telemetry.ts';
import { samplesBytes } from '../../rules/storage.ts';
import { first } from '../engine/steps.ts';
import { eventSql } from '../events.ts';
import { type CountedIn, countSamples } from '../stats.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { isSameSample, SAMPLE_COLUMNS } from '../telemetry.ts';
import type { Access } from './engine/connections.ts';
import { runOn } from './engine/run-steps.ts';
import { showNewest } from './robots.ts';
import { rollupWriter } from './roll-ups.ts';

/** Thrown inside a write, so that its savepoint undoes the samples before it. */
class SampleConflict extends Error {
  readonly index: number;

  constructor(index: number) {
    super('The sample is stored with other content');
    this.index = index;
  }
}

export function telemetryStore(access: Access, usage: StorageUsage) {
  const { writer, write } = access;
  const insert = insertSample(access);
  const addToRollups = rollupWriter(writer);
  const run = runOn(writer);
  const show = showNewest(writer);
  function recordInWrite({ robotId, keyHash, samples, now }: NewSamples) {
    const robot = run(first<CountedIn>(eventSql.lockRobot, robotId, keyHash));
    if (robot === undefined) return { outcome: 'key_revoked' as const };
    const isNew = samples.map((sample, index) => insert(robotId, sample, index));
    const inserted = samples.filter((_, index) => isNew[index]);
    // This parses the readings. Not before the write: otherwise all waiting requests would hold theirs in memory.
    addToRollups(robotId, inserted);
    show(robotId, inserted, now);
    run(countSamples([{ ...robot, samples: inserted }]));
    return { outcome: 'recorded' as const, wallet: robot.wallet, bytes: samplesBytes(inserted) };
  }

  return {
    async recordSamples(samples) {
      try {
        const result = await write(() => recordInWrite(samples));
        if (result.outcome === 'recorded') usage.add(result.wallet, result.bytes);
        return { outcome: result.outcome };
      } catch (error) {
        if (error instanceof SampleConflict) return { outcome: 'id_conflict', index: error.index };
        throw error;
      }
    },
  } satisfies Partial<TelemetryStore>;
}

/** Returns true if the sample is new. @throws SampleConflict if it is stored with other content. */
function insertSample({
  writer,
}: Access): (robotId: string, sample: SampleRecord, index: number) => boolean {
  const insert = writer.prepare<[string, number, string, number | null, string | null, string]>(
    `INSERT INTO telemetry (robot_id, recorded_at, id, battery_pct, state, metrics)
     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const find = writer.prepare<[string, number, string], SampleRecord>(
    `SELECT ${SAMPLE_COLUMNS} FROM telemetry
     WHERE robot_id = ? AND recorded_at = ? AND id = ?`,
  );
  return (robotId, sample, index) => {
    const { recordedAt, id, batteryPct, state, metrics } = sample;
    if (insert.run(robotId, recordedAt, id, batteryPct, state, metrics).changes > 0) return true;
    const stored = find.get(robotId, sample.recordedAt, sample.id);
    if (stored === undefined || !isSameSample(stored, sample)) throw new SampleConflict(index);
    return false;
  };
}
