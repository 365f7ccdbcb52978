// Stores telemetry roll-ups: aggregates of samples by minute, hour and day.

import type { Database } from 'better-sqlite3';
import type { Resolution } from '../../../protocol/telemetry.ts';
import type { SampleRecord } from '../../ports/telemetry.ts';
import { noNames, rollUpNames, type StoredNames } from '../rows/aggregate.ts';
import { addToAggregates, byInterval, newNames, type StoredAggregate } from '../rows/roll-ups.ts';

/**
 * Adds new samples to the aggregates of their minutes, hours and days. Each aggregate is read and written once. Call it
 * inside a write.
 */
export function rollupWriter(
  writer: Database,
): (robotId: string, samples: readonly SampleRecord[]) => void {
  const findNames = writer.prepare<[string, number], { names: string }>(
    'SELECT names FROM telemetry_names WHERE robot_id = ? AND day = ?',
  );
  const saveNames = writer.prepare<[string, number, string]>(
    `INSERT INTO telemetry_names (robot_id, day, names) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET names = excluded.names`,
  );
  const find = writer.prepare<[string, Resolution, number], StoredAggregate>(
    `SELECT samples, summary FROM telemetry_rollups
     WHERE robot_id = ? AND resolution = ? AND at = ?`,
  );
  const save = writer.prepare<[string, Resolution, number, number, Buffer]>(
    `INSERT INTO telemetry_rollups (robot_id, resolution, at, samples, summary)
     VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET samples = excluded.samples, summary = excluded.summary`,
  );
  function addDay(robotId: string, day: number, samples: SampleRecord[]): void {
    const row = findNames.get(robotId, day);
    const stored: StoredNames = row === undefined ? noNames : JSON.parse(row.names);
    const names = rollUpNames(stored);
    const aggregates = addToAggregates(samples, names, (resolution, at) =>
      find.get(robotId, resolution, at),
    );
    for (const { resolution, at, samples: count, summary } of aggregates) {
      save.run(robotId, resolution, at, count, summary);
    }
    const grown = newNames(names, stored);
    if (grown !== null) saveNames.run(robotId, day, grown);
  }
  return (robotId, samples) => {
    for (const [day, ofDay] of byInterval('day', samples)) addDay(robotId, day, ofDay);
  };
}
