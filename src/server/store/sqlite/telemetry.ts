// Stores telemetry samples with everything derived from them, and lists samples and roll-ups.

import type { NewSamples, SampleRecord, TelemetryStore } from '../../ports/telemetry.ts';
import { samplesBytes } from '../../rules/storage.ts';
import { readingsOf } from '../rows/aggregate.ts';
import { hourOf } from '../stats.ts';
import type { StorageUsage } from '../storage-usage.ts';
import type { Access } from './engine/connections.ts';
import { showNewest } from './robots.ts';
import { type Reading, rollupReader, rollupWriter } from './roll-ups.ts';
import { activityHours, type CountedIn } from './stats.ts';

const SAMPLE_COLUMNS = `id, recorded_at AS "recordedAt", battery_pct AS "batteryPct", state, metrics`;

/** Thrown inside a write, so that its savepoint undoes the samples before it. */
class SampleConflict extends Error {
  readonly index: number;

  constructor(index: number) {
    super('The sample is stored with other content');
    this.index = index;
  }
}

export function telemetryStore(access: Access, usage: StorageUsage): TelemetryStore {
  const { reader, writer, write, read } = access;
  const robotOfKey = writer.prepare<[string, string], CountedIn>(
    'SELECT wallet, fleet_id FROM robots WHERE id = ? AND key_hash = ?',
  );
  const insert = insertSample(access);
  const addToRollups = rollupWriter(writer);
  const countActivity = activityHours(writer);
  const show = showNewest(writer);
  const owned = reader.prepare<[string, string]>(
    'SELECT 1 FROM robots WHERE id = ? AND wallet = ?',
  );
  const page = reader.prepare<[string, number, number, string, number], SampleRecord>(
    `SELECT ${SAMPLE_COLUMNS} FROM telemetry
     WHERE robot_id = ? AND recorded_at >= ? AND (recorded_at, id) < (?, ?)
     ORDER BY recorded_at DESC, id DESC LIMIT ?`,
  );
  const rollups = rollupReader(reader);

  function recordInWrite({ robotId, keyHash, samples, now }: NewSamples) {
    const robot = robotOfKey.get(robotId, keyHash);
    if (robot === undefined) return { outcome: 'key_revoked' as const };
    const isNew = samples.map((sample, index) => insert(robotId, sample, index));
    const inserted = samples.filter((_, index) => isNew[index]);
    // Parse the readings here, not before the write: otherwise all waiting requests would hold theirs in memory.
    addToRollups(robotId, inserted.map(toReading));
    for (const [hour, count] of countsByHour(inserted)) {
      countActivity(robot, 'samples', hour, count);
    }
    show(robotId, inserted, now);
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

    listSamples: ({ wallet, robotId }, { from, to }, { limit, before }) =>
      read(() => {
        if (owned.get(robotId, wallet) === undefined) return null;
        // '' sorts before every id.
        const end = before !== null && before.recordedAt < to ? before : { recordedAt: to, id: '' };
        return page.all(robotId, from, end.recordedAt, end.id, limit);
      }),

    listRollups: ({ wallet, robotId }, resolution, range, limit) =>
      read(() => {
        if (owned.get(robotId, wallet) === undefined) return null;
        return rollups(robotId, resolution, range, limit);
      }),
  };
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
    const isSame =
      stored?.batteryPct === sample.batteryPct &&
      stored.state === sample.state &&
      stored.metrics === sample.metrics;
    if (!isSame) throw new SampleConflict(index);
    return false;
  };
}

function toReading(sample: SampleRecord): Reading {
  return { recordedAt: sample.recordedAt, readings: readingsOf(sample) };
}

function countsByHour(samples: SampleRecord[]): Map<number, number> {
  const hours = new Map<number, number>();
  for (const { recordedAt } of samples) {
    const hour = hourOf(recordedAt);
    hours.set(hour, (hours.get(hour) ?? 0) + 1);
  }
  return hours;
}
