// Lists telemetry samples and roll-ups.

import type { SampleRecord, TelemetryStore } from '../ports/telemetry.ts';
import type { Db } from './db/database.ts';
import { NO_ID } from './db/rows.ts';
import { page, raw, sql } from './db/sql.ts';
import { ownsRobot } from './robots.ts';
import { readSummary, type StoredSummary, SUMMARY_COLUMNS } from './telemetry/roll-ups.ts';

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
        type Row = StoredSummary & { at: number };
        const found = await tx.all<Row>(sql`SELECT at, ${SUMMARY_COLUMNS} FROM telemetry_rollups
          WHERE robot_id = ${robotId} AND resolution = ${resolution} AND at >= ${from} AND at < ${to}
          ORDER BY at LIMIT ${limit}`);
        return found.map(({ at, ...stored }) => ({ at, summary: readSummary(stored) }));
      }),
  } satisfies Partial<TelemetryStore>;
}
