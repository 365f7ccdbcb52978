import {
  addSample,
  addSummary,
  decodeSummary,
  emptySummary,
  encodeSummary,
  type SampleSummary,
} from '../../core/sample-summary.ts';
import type { NewSamples, SampleRecord, TelemetryStore } from '../../core/telemetry-store.ts';
import type { Access } from './access.ts';
import { activityHours, type CountedIn, hourOf } from './activity-hours.ts';
import { showNewest } from './robot-readings.ts';

const DAY_MS = 24 * 60 * 60_000;

type Resolution = 'hour' | 'day';

interface SampleRow {
  id: string;
  recorded_at: number;
  battery_pct: number | null;
  state: string | null;
  metrics: string;
}

interface RollupRow {
  at: number;
  samples: number;
  summary: string;
}

/** Thrown inside a write, so that its savepoint undoes the samples before. */
class SampleConflict extends Error {
  readonly index: number;

  constructor(index: number) {
    super('The sample is there with other content');
    this.index = index;
  }
}

export function telemetryStore(access: Access): TelemetryStore {
  const { reader, writer, write, read } = access;
  const robotOfKey = writer.prepare<[string, string], CountedIn>(
    'SELECT wallet, fleet_id FROM robots WHERE id = ? AND key_hash = ?',
  );
  const insert = insertSample(access);
  const countInRollups = rollupWriter(access);
  const countActivity = activityHours(writer);
  const show = showNewest(writer);
  const owned = reader.prepare<[string, string]>(
    'SELECT 1 FROM robots WHERE id = ? AND wallet = ?',
  );
  const page = reader.prepare<[string, number, number, string, number], SampleRow>(
    `SELECT id, recorded_at, battery_pct, state, metrics FROM telemetry
     WHERE robot_id = ? AND recorded_at >= ? AND (recorded_at, id) < (?, ?)
     ORDER BY recorded_at DESC, id DESC LIMIT ?`,
  );
  const rollups = reader.prepare<[string, Resolution, number, number], RollupRow>(
    `SELECT at, samples, summary FROM telemetry_rollups
     WHERE robot_id = ? AND resolution = ? AND at >= ? AND at < ? ORDER BY at`,
  );

  function recordInWrite({ robotId, keyHash, samples, now }: NewSamples) {
    const robot = robotOfKey.get(robotId, keyHash);
    if (robot === undefined) return { outcome: 'robot_gone' as const };
    const inserted = samples.filter((sample, index) => insert(robotId, sample, index));
    for (const [hour, summary] of summariesByHour(inserted)) {
      countInRollups(robotId, hour, summary);
      countActivity(robot, 'samples', hour, summary.samples);
    }
    show(robotId, inserted, now);
    return { outcome: 'recorded' as const };
  }

  return {
    async recordSamples(samples) {
      try {
        return await write(() => recordInWrite(samples));
      } catch (error) {
        if (error instanceof SampleConflict) return { outcome: 'id_conflict', index: error.index };
        throw error;
      }
    },

    listSamples: ({ wallet, robotId }, { from, to }, { limit, before }) =>
      read(() => {
        if (owned.get(robotId, wallet) === undefined) return null;
        // Every id is greater than ''.
        const end = before !== null && before.recordedAt < to ? before : { recordedAt: to, id: '' };
        return page.all(robotId, from, end.recordedAt, end.id, limit).map(toSample);
      }),

    listRollups: ({ wallet, robotId }, resolution, { from, to }) =>
      read(() => {
        if (owned.get(robotId, wallet) === undefined) return null;
        return rollups.all(robotId, resolution, from, to).map(({ at, samples, summary }) => ({
          at,
          summary: decodeSummary(samples, summary),
        }));
      }),
  };
}

/** Answers whether the sample is new. Throws `SampleConflict`. */
function insertSample({
  writer,
}: Access): (robotId: string, sample: SampleRecord, index: number) => boolean {
  const insert = writer.prepare<[Record<string, string | number | null>]>(
    `INSERT INTO telemetry (robot_id, recorded_at, id, battery_pct, state, metrics)
     VALUES (:robotId, :recordedAt, :id, :batteryPct, :state, :metrics) ON CONFLICT DO NOTHING`,
  );
  const find = writer.prepare<[string, number, string], SampleRow>(
    `SELECT id, recorded_at, battery_pct, state, metrics FROM telemetry
     WHERE robot_id = ? AND recorded_at = ? AND id = ?`,
  );
  return (robotId, sample, index) => {
    if (insert.run({ robotId, ...sample }).changes > 0) return true;
    const stored = find.get(robotId, sample.recordedAt, sample.id);
    const isSame =
      stored?.battery_pct === sample.batteryPct &&
      stored.state === sample.state &&
      stored.metrics === sample.metrics;
    if (!isSame) throw new SampleConflict(index);
    return false;
  };
}

function rollupWriter({
  writer,
}: Access): (robotId: string, hour: number, summary: SampleSummary) => void {
  const find = writer.prepare<[string, Resolution, number], RollupRow>(
    `SELECT at, samples, summary FROM telemetry_rollups
     WHERE robot_id = ? AND resolution = ? AND at = ?`,
  );
  const save = writer.prepare<[string, Resolution, number, number, string]>(
    `INSERT INTO telemetry_rollups (robot_id, resolution, at, samples, summary)
     VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET samples = excluded.samples, summary = excluded.summary`,
  );
  function merge(robotId: string, resolution: Resolution, at: number, added: SampleSummary): void {
    const stored = find.get(robotId, resolution, at);
    const summary =
      stored === undefined ? emptySummary() : decodeSummary(stored.samples, stored.summary);
    addSummary(summary, added);
    save.run(robotId, resolution, at, summary.samples, encodeSummary(summary));
  }
  return (robotId, hour, summary) => {
    merge(robotId, 'hour', hour, summary);
    merge(robotId, 'day', Math.floor(hour / DAY_MS) * DAY_MS, summary);
  };
}

function summariesByHour(samples: SampleRecord[]): [number, SampleSummary][] {
  const hours = new Map<number, SampleSummary>();
  for (const sample of samples) {
    const hour = hourOf(sample.recordedAt);
    const summary = hours.get(hour) ?? emptySummary();
    hours.set(hour, summary);
    addSample(summary, sample);
  }
  return [...hours].sort(([a], [b]) => a - b);
}

function toSample(row: SampleRow): SampleRecord {
  return {
    id: row.id,
    recordedAt: row.recorded_at,
    batteryPct: row.battery_pct,
    state: row.state,
    metrics: row.metrics,
  };
}
