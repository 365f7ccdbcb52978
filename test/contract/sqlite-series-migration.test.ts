import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { summaryOf } from '../../src/server/store/rows/aggregate.ts';
import { decodeAggregate } from '../../src/server/store/rows/aggregate-bytes.ts';
import { migrate } from '../../src/server/store/sqlite/engine/migrate.ts';
import { checkInvariants } from '../../src/server/store/sqlite/invariants/check.ts';
import { migrations } from '../../src/server/store/sqlite/migrations/migrations.ts';
import { namesReader } from '../../src/server/store/sqlite/roll-ups.ts';

const BEFORE = 4;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const robot = '0190a5c0-0000-7000-8000-000000000000';

let db: Database.Database;
beforeEach(() => {
  db = new Database(':memory:');
  migrate({ db, migrations: migrations.slice(0, BEFORE), now: null });
  db.exec(`
    INSERT INTO accounts VALUES ('0xa', 0, '0', 0);
    INSERT INTO robots (id, wallet, name, created_at, updated_at)
      VALUES ('${robot}', '0xa', 'arm', 0, 0);
  `);
});
afterEach(() => {
  db.close();
});

function storeSample(recordedAt: number, metrics: object): void {
  db.prepare('INSERT INTO telemetry VALUES (?, ?, ?, 50, NULL, ?)').run(
    robot,
    recordedAt,
    String(recordedAt),
    JSON.stringify(metrics),
  );
}

/** As version 4 kept them, `battery` and each metric as count, min, max and mean. */
function storeRollup(resolution: 'hour' | 'day', at: number, samples: number, t: number[]): void {
  const summary = { battery: [samples, 50, 50, 50], states: [], metrics: [['t', t]] };
  db.prepare('INSERT INTO telemetry_rollups VALUES (?, ?, ?, ?, ?)').run(
    robot,
    resolution,
    at,
    samples,
    JSON.stringify(summary),
  );
  db.prepare(
    `INSERT INTO activity_hours (scope, at, samples) SELECT '0xa', ?, ? WHERE ? = 'hour'`,
  ).run(at, samples, resolution);
}

function stored(resolution: string) {
  const namesOf = namesReader(db);
  return db
    .prepare<[string], { at: number; samples: number; summary: Buffer }>(
      'SELECT at, samples, summary FROM telemetry_rollups WHERE resolution = ? ORDER BY at',
    )
    .all(resolution)
    .map(({ at, samples, summary }) => {
      const names = namesOf(robot, Math.floor(at / DAY) * DAY);
      const { metrics } = summaryOf(decodeAggregate(samples, summary), names);
      return [at, samples, metrics.get('t')];
    });
}

it('counts anew what the samples still say, by minute too', () => {
  for (let i = 0; i < 1200; i += 1) storeSample(i * 6_000, { t: i % 2 });
  storeRollup('hour', 0, 600, [600, 0, 1, 0.4999]);
  storeRollup('hour', HOUR, 600, [600, 0, 1, 0.4999]);
  storeRollup('day', 0, 1200, [1200, 0, 1, 0.4999]);

  migrate({ db, migrations, now: null });

  const half = (count: number) => ({ count, min: 0, max: 1, mean: 0.5 });
  expect(stored('hour')).toEqual([
    [0, 600, half(600)],
    [HOUR, 600, half(600)],
  ]);
  expect(stored('day')).toEqual([[0, 1200, half(1200)]]);
  expect(stored('minute')).toHaveLength(120);
  expect(stored('minute')[7]).toEqual([7 * MINUTE, 10, half(10)]);
  expect(checkInvariants(db)).toEqual([]);
});

it('takes over hours and days of which samples are gone', () => {
  storeSample(HOUR + 1, { t: 4 });
  storeSample(2 * HOUR, { t: 5 });
  storeRollup('hour', 0, 7, [7, 1, 3, 2]);
  storeRollup('hour', HOUR, 3, [3, 2, 4, 3]);
  storeRollup('hour', 2 * HOUR, 1, [1, 5, 5, 5]);
  storeRollup('day', 0, 11, [11, 1, 5, 2.5]);

  migrate({ db, migrations, now: null });

  expect(stored('hour')).toEqual([
    [0, 7, { count: 7, min: 1, max: 3, mean: 2 }],
    [HOUR, 3, { count: 3, min: 2, max: 4, mean: 3 }],
    [2 * HOUR, 1, { count: 1, min: 5, max: 5, mean: 5 }],
  ]);
  expect(stored('day')).toEqual([[0, 11, { count: 11, min: 1, max: 5, mean: 2.5 }]]);
  expect(db.prepare('SELECT before FROM telemetry_horizons').pluck().all()).toEqual([2 * HOUR]);
  expect(checkInvariants(db)).toEqual([]);
});

it('takes over a robot that has roll-ups alone', () => {
  storeRollup('hour', DAY, 7, [7, -3, -1, -2]);
  storeRollup('day', DAY, 7, [7, -3, -1, -2]);

  migrate({ db, migrations, now: null });

  expect(stored('day')).toEqual([[DAY, 7, { count: 7, min: -3, max: -1, mean: -2 }]]);
  expect(checkInvariants(db)).toEqual([]);
});
