// Lists telemetry samples and roll-ups.
import type { SampleRecord, TelemetryStore } from '../ports/telemetry.ts';
import { NO_ID, page, rows, type StepRunner, some } from './engine/steps.ts';
import { Aggregate, addEncoded, noNames, type StoredNames, summaryOf } from './rows/aggregate.ts';
import { beginOf } from './rows/roll-ups.ts';
import { taskSql } from './tasks.ts';

export const SAMPLE_COLUMNS = `id, recorded_at AS "recordedAt", battery_pct AS "batteryPct", state, metrics`;

export const telemetrySql = {
  samples: `SELECT ${SAMPLE_COLUMNS} FROM telemetry
    WHERE robot_id = $1 AND recorded_at >= $2 AND (recorded_at, id) < ($3, $4::uuid) AND recorded_at <= $3
    ORDER BY recorded_at DESC, id DESC LIMIT $5`,
  rollups: `SELECT at, samples, summary FROM telemetry_rollups
    WHERE robot_id = $1 AND resolution = $2 AND at >= $3 AND at < $4 ORDER BY at LIMIT $5`,
  names: 'SELECT day, names FROM telemetry_names WHERE robot_id = $1 AND day >= $2 AND day <= $3',
} as const;

/** Compares the metrics as text: both are canonical JSON, so equal content is equal text. */
export function isSameSample(a: SampleRecord, b: SampleRecord): boolean {
  return a.batteryPct === b.batteryPct && a.state === b.state && a.metrics === b.metrics;
}

export function telemetryReads({ read }: StepRunner) {
  return {
    listSamples: ({ wallet, robotId }, { from, to }, { limit, before }) =>
      read(function* () {
        if (!(yield* some(taskSql.ownRobot, robotId, wallet))) return null;
        const end =
          before !== null && before.recordedAt < to ? before : { recordedAt: to, id: NO_ID };
        const values = [robotId, from, end.recordedAt, end.id, limit];
        return yield* page<SampleRecord>(telemetrySql.samples, ...values);
      }),

    listRollups: ({ wallet, robotId }, resolution, { from, to }, limit) =>
      read(function* () {
        if (!(yield* some(taskSql.ownRobot, robotId, wallet))) return null;
        type Row = { at: number; samples: number; summary: Buffer };
        const found = yield* rows<Row>(telemetrySql.rollups, robotId, resolution, from, to, limit);
        // Read the names after the roll-ups: names are only added, so all numbers of the roll-ups are known.
        type Names = { day: number; names: string };
        const days = [found[0], found.at(-1)].map((row) => beginOf('day', row?.at ?? from));
        const names = yield* rows<Names>(telemetrySql.names, robotId, ...days);
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
