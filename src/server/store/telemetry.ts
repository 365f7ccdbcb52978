// Lists telemetry samples and roll-ups.

import type { SampleRecord, TelemetryStore } from '../ports/telemetry.ts';
import type { Db } from './db/database.ts';
import { NO_ID } from './db/rows.ts';
import { page, raw, sql } from './db/sql.ts';
import { ownsRobot } from './robots.ts';
import {
  Aggregate,
  addEncoded,
  noNames,
  type StoredNames,
  summaryOf,
} from './telemetry/aggregate.ts';
import { beginOf } from './telemetry/roll-ups.ts';

export const SAMPLE_COLUMNS = `id, recorded_at AS "recordedAt", battery_pct AS "batteryPct", state, metrics`;

/** Compares the metrics as text: both are canonical JSON, so equal content is equal text. */
export function isSameSample(a: SampleRecord, b: SampleRecord): boolean {
  return a.batteryPct === b.batteryPct && a.state === b.state && a.metrics === b.metrics;
}

export function telemetryReads({ read }: Db) {
  return {
    listSamples: ({ wallet, robotId }, { from, to }, { limit, before }) =>
      read(async (tx) => {
        if (!(await ownsRobot(tx, wallet, robotId))) return null;
        const end =
          before !== null && before.recordedAt < to ? before : { recordedAt: to, id: NO_ID };
        return tx.all<SampleRecord>(
          page(sql`SELECT ${raw(SAMPLE_COLUMNS)} FROM telemetry
            WHERE robot_id = ${robotId} AND recorded_at >= ${from}
              AND (recorded_at, id) < (${end.recordedAt}, ${end.id})
              AND recorded_at <= ${end.recordedAt}
            ORDER BY recorded_at DESC, id DESC LIMIT ${limit}`),
        );
      }),

    listRollups: ({ wallet, robotId }, resolution, { from, to }, limit) =>
      read(async (tx) => {
        if (!(await ownsRobot(tx, wallet, robotId))) return null;
        type Row = { at: number; samples: number; summary: Buffer };
        const found = await tx.all<Row>(sql`SELECT at, samples, summary FROM telemetry_rollups
          WHERE robot_id = ${robotId} AND resolution = ${resolution} AND at >= ${from} AND at < ${to}
          ORDER BY at LIMIT ${limit}`);
        // Read the names after the roll-ups: names are only added, so all numbers of the roll-ups are known.
        type Names = { day: number; names: string };
        const [first, last] = [found[0], found.at(-1)].map((row) =>
          beginOf('day', row?.at ?? from),
        );
        const names = await tx.all<Names>(sql`SELECT day, names FROM telemetry_names
          WHERE robot_id = ${robotId} AND day >= ${first ?? from} AND day <= ${last ?? from}`);
        const namesOf = new Map<number, StoredNames>(
          names.map(({ day, names }) => [day, JSON.parse(names)]),
        );
        const aggregate = new Aggregate();
        return found.map(({ at, samples, summary }) => {
          aggregate.clear();
          addEncoded(aggregate, samples, summary);
          return { at, summary: summaryOf(aggregate, namesOf.get(beginOf('day', at)) ?? noNames) };
        });
      }),
  } satisfies Partial<TelemetryStore>;
}
