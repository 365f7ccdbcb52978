// Stores telemetry samples with everything derived from them.

import type { NewSamples, SampleRecord, TelemetryStore } from '../../ports/telemetry.ts';
import { samplesBytes } from '../../rules/storage.ts';
import type { Db } from '../db/database.ts';
import { raw, sql } from '../db/sql.ts';
import type { Tx } from '../db/tx.ts';
import { lockRobot, markSeen } from '../robots.ts';
import { countSamples } from '../stats.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { noNames, rollUpNames, type StoredNames } from '../telemetry/aggregate.ts';
import { SHOWN_COLUMNS, type ShownRow, shownAfter } from '../telemetry/readings.ts';
import {
  addToAggregates,
  byInterval,
  newNames,
  type StoredAggregate,
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
  if (robot === undefined) return { outcome: 'key_revoked' as const };
  const inserted: SampleRecord[] = [];
  for (const [index, sample] of samples.entries()) {
    if (await insertSample(tx, robotId, sample, index)) inserted.push(sample);
  }
  // This parses the readings. Not before the write: otherwise all waiting requests would hold theirs in memory.
  for (const [day, ofDay] of byInterval('day', inserted)) await addToDay(tx, robotId, day, ofDay);
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
  if (stored === undefined || !isSameSample(stored, sample)) throw new SampleConflict(index);
  return false;
}

/** Adds new samples to the aggregates of their minutes, hours and day. Each is read and written once. */
async function addToDay(tx: Tx, robotId: string, day: number, samples: SampleRecord[]) {
  const row = await tx.get<{ names: string }>(
    sql`SELECT names FROM telemetry_names WHERE robot_id = ${robotId} AND day = ${day}`,
  );
  const stored: StoredNames = row === undefined ? noNames : JSON.parse(row.names);
  const names = rollUpNames(stored);
  const aggregates = await addToAggregates(samples, names, (resolution, at) =>
    tx.get<StoredAggregate>(sql`SELECT samples, summary FROM telemetry_rollups
      WHERE robot_id = ${robotId} AND resolution = ${resolution} AND at = ${at}`),
  );
  for (const { resolution, at, samples: count, summary } of aggregates) {
    await tx.run(sql`INSERT INTO telemetry_rollups (robot_id, resolution, at, samples, summary)
      VALUES (${robotId}, ${resolution}, ${at}, ${count}, ${summary})
      ON CONFLICT DO UPDATE SET samples = excluded.samples, summary = excluded.summary`);
  }
  const grown = newNames(names, stored);
  if (grown === null) return;
  await tx.run(sql`INSERT INTO telemetry_names (robot_id, day, names)
    VALUES (${robotId}, ${day}, ${grown}) ON CONFLICT DO UPDATE SET names = excluded.names`);
}

/** Updates battery and state of the robot from new samples. */
async function showNewest(tx: Tx, robotId: string, samples: readonly SampleRecord[], now: number) {
  const shown = await tx.get<ShownRow>(
    sql`SELECT ${SHOWN_COLUMNS} FROM robots WHERE id = ${robotId}`,
  );
  if (shown === undefined) return;
  const next = shownAfter(shown, samples, now);
  await tx.run(sql`UPDATE robots SET battery_pct = ${next.battery_pct},
    battery_at = ${next.battery_at}, battery_since = ${next.battery_since}, state = ${next.state},
    state_at = ${next.state_at}, state_since = ${next.state_since} WHERE id = ${robotId}`);
}
