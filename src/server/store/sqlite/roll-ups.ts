// Stores telemetry roll-ups: aggregates of samples by minute, hour and day.

import type { Database } from 'better-sqlite3';
import type { Resolution } from '../../../protocol/telemetry.ts';
import type { Rollup, TimeRange } from '../../ports/telemetry.ts';
import {
  Aggregate,
  noNames,
  numbered,
  type RollUpNames,
  rollUpNames,
  type SampleReadings,
  type StoredNames,
  summaryOf,
} from '../rows/aggregate.ts';
import { addEncoded, encodeAggregate } from '../rows/aggregate-bytes.ts';
import { beginOf, byInterval, resolutions } from '../rows/roll-ups.ts';

export interface RollupRow {
  at: number;
  samples: number;
  summary: Buffer;
}

/** Reads the names of a robot's day. Call it inside a read or a write, depending on the connection. */
export function namesReader(db: Database): (robotId: string, day: number) => StoredNames {
  const find = db.prepare<[string, number], { names: string }>(
    'SELECT names FROM telemetry_names WHERE robot_id = ? AND day = ?',
  );
  return (robotId, day) => {
    const stored = find.get(robotId, day);
    return stored === undefined ? noNames : JSON.parse(stored.names);
  };
}

export interface Reading {
  recordedAt: number;
  readings: SampleReadings;
}

/**
 * Adds new samples to the aggregates of their minutes, hours and days. Each aggregate is read and written once. Call it
 * inside a write.
 */
export function rollupWriter(writer: Database): (robotId: string, samples: Reading[]) => void {
  const namesOf = namesReader(writer);
  const saved = aggregateSaver(writer);
  const find = writer.prepare<[string, Resolution, number], Omit<RollupRow, 'at'>>(
    `SELECT samples, summary FROM telemetry_rollups
     WHERE robot_id = ? AND resolution = ? AND at = ?`,
  );
  const aggregate = new Aggregate();
  function addDay(robotId: string, day: number, samples: Reading[]): void {
    const stored = namesOf(robotId, day);
    const names = rollUpNames(stored);
    const counted = samples.map(({ recordedAt, readings }) => ({
      recordedAt,
      readings: numbered(names, readings),
    }));
    if (hasNewNames(names, stored)) saved.names(robotId, day, names);
    for (const resolution of resolutions) {
      for (const [at, ofInterval] of byInterval(resolution, counted)) {
        aggregate.clear();
        const row = find.get(robotId, resolution, at);
        if (row !== undefined) addEncoded(aggregate, row.samples, row.summary);
        for (const { readings } of ofInterval) aggregate.add(readings);
        saved.aggregate(robotId, resolution, at, aggregate);
      }
    }
  }
  return (robotId, samples) => {
    for (const [day, ofDay] of byInterval('day', samples)) addDay(robotId, day, ofDay);
  };
}

/** Reads up to `limit` roll-ups of a range, oldest first. Call it inside a read. */
export function rollupReader(
  reader: Database,
): (robotId: string, resolution: Resolution, range: TimeRange, limit: number) => Rollup[] {
  const namesOf = namesReader(reader);
  const find = reader.prepare<[string, Resolution, number, number, number], RollupRow>(
    `SELECT at, samples, summary FROM telemetry_rollups
     WHERE robot_id = ? AND resolution = ? AND at >= ? AND at < ? ORDER BY at LIMIT ?`,
  );
  const aggregate = new Aggregate();
  return (robotId, resolution, { from, to }, limit) => {
    let day: number | undefined;
    let names = noNames;
    return find.all(robotId, resolution, from, to, limit).map(({ at, samples, summary }) => {
      if (day !== beginOf('day', at)) {
        day = beginOf('day', at);
        names = namesOf(robotId, day);
      }
      aggregate.clear();
      addEncoded(aggregate, samples, summary);
      return { at, summary: summaryOf(aggregate, names) };
    });
  };
}

/** Saves aggregates and the names of their day. Both replace what is stored. */
function aggregateSaver(writer: Database) {
  const save = writer.prepare<[string, Resolution, number, number, Buffer]>(
    `INSERT INTO telemetry_rollups (robot_id, resolution, at, samples, summary)
     VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET samples = excluded.samples, summary = excluded.summary`,
  );
  const saveNames = writer.prepare<[string, number, string]>(
    `INSERT INTO telemetry_names (robot_id, day, names) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET names = excluded.names`,
  );
  return {
    aggregate(robotId: string, resolution: Resolution, at: number, aggregate: Aggregate) {
      save.run(robotId, resolution, at, aggregate.samples, encodeAggregate(aggregate));
    },
    names(robotId: string, day: number, { states, metrics }: RollUpNames) {
      const names = { states: states.names, metrics: metrics.names };
      saveNames.run(robotId, day, JSON.stringify(names));
    },
  };
}

function hasNewNames({ states, metrics }: RollUpNames, stored: StoredNames): boolean {
  return states.size > stored.states.length || metrics.size > stored.metrics.length;
}
