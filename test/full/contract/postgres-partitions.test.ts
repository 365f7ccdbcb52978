import pg from 'pg';
import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openPostgresStore } from '../../../src/server/store/postgres/open-store.ts';
import { createTestClock, type TestClock } from '../../support/clock.ts';
import { openTemporaryPostgres } from './temporary-postgres.ts';

const DAY = 24 * 60 * 60_000;
/** A Thursday. */
const now = Date.UTC(2026, 0, 15, 12);

let clock: TestClock;
let opened: Awaited<ReturnType<typeof openTemporaryPostgres>>;
let client: pg.Client;
beforeEach(async () => {
  clock = createTestClock(now);
  opened = await openTemporaryPostgres(clock, { ownDatabase: true });
  client = new pg.Client({ connectionString: opened.url });
  await client.connect();
});
afterEach(async () => {
  await client.end();
  await opened.close();
});

async function partitions(): Promise<string[]> {
  const { rows } = await client.query(
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits
     WHERE inhparent = 'telemetry'::regclass ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

const insert = (recordedAt: number, samples = 1) =>
  client.query(
    `INSERT INTO telemetry (robot_id, recorded_at, id, metrics)
     SELECT $1, $2, gen_random_uuid(), '{}' FROM generate_series(1, $3)`,
    [uuid(), recordedAt, samples],
  );

async function samplesIn(table: string): Promise<number> {
  const { rows } = await client.query(`SELECT count(*)::int AS samples FROM ONLY ${table}`);
  return rows[0].samples;
}

const firstWeeks = [
  'telemetry_20260105',
  'telemetry_20260112',
  'telemetry_20260119',
  'telemetry_20260126',
];
const others = ['telemetry_past', 'telemetry_rest'];

it('exist for last week, this week and the next two, from the start', async () => {
  expect(await partitions()).toEqual([...firstWeeks, ...others]);
});

it('hold the samples of their week; older and far future samples are accepted too', async () => {
  await insert(Date.UTC(2026, 0, 12) - 1);
  await insert(Date.UTC(2026, 0, 12));
  await insert(Date.UTC(2026, 0, 19) - 1);
  await insert(-DAY);
  await insert(now + 100 * DAY);

  expect(await samplesIn('telemetry_20260105')).toBe(1);
  expect(await samplesIn('telemetry_20260112')).toBe(2);
  expect(await samplesIn('telemetry_past')).toBe(1);
  expect(await samplesIn('telemetry_rest')).toBe(1);
});

it('are created for the time in which no instance ran', async () => {
  clock.advance(21 * DAY);
  await opened.reopen();

  expect(await partitions()).toEqual([
    ...firstWeeks,
    'telemetry_20260202',
    'telemetry_20260209',
    'telemetry_20260216',
    ...others,
  ]);
});

it('are created once by instances that start together', async () => {
  clock.advance(7 * DAY);
  const instances = await Promise.all([1, 2, 3].map(() => opened.another()));
  await Promise.all(instances.map((instance) => instance.close()));

  expect(await partitions()).toEqual([...firstWeeks, 'telemetry_20260202', ...others]);
});

it('take over the samples that arrived before they were created', async () => {
  const at = Date.UTC(2026, 1, 3);
  await insert(at, 3);
  expect(await samplesIn('telemetry_rest')).toBe(3);

  clock.advance(7 * DAY);
  await opened.reopen();

  expect(await samplesIn('telemetry_20260202')).toBe(3);
  expect(await samplesIn('telemetry_rest')).toBe(0);
});

it('are not created for a week with too many earlier samples', async () => {
  await insert(Date.UTC(2026, 1, 3), 10_001);

  clock.advance(14 * DAY);
  await opened.reopen();

  expect(await samplesIn('telemetry_rest')).toBe(10_001);
  expect(await partitions()).toEqual([...firstWeeks, 'telemetry_20260209', ...others]);
});

it('are postponed while another session reads the table for long, which is logged', async () => {
  const told: unknown[] = [];
  const { url } = opened;
  const open = () =>
    openPostgresStore({
      url,
      poolMax: 4,
      pooler: false,
      serves: true,
      instant: () => clock.now(),
      onPartitions: (fault) => told.push(fault),
    });
  await client.query('BEGIN; SELECT FROM telemetry LIMIT 1');
  clock.advance(7 * DAY);
  const kept = await open();
  expect(await partitions()).toEqual([...firstWeeks, ...others]);
  await client.query('COMMIT');
  const later = await open();

  expect(await partitions()).toContain('telemetry_20260202');
  expect(told).toEqual([expect.objectContaining({ code: 'storage_unavailable' }), null]);
  await Promise.all([kept.close(), later.close()]);
});

it('may be missing: samples are accepted anyway', async () => {
  const robot = { id: uuid(), keyHash: 'a'.repeat(64) };
  const wallet = `0x${'12'.repeat(20)}`;
  await opened.store.grantCredits({ id: uuid(), wallet, anchors: 1, gasWei: 0n, note: '', now });
  await opened.store.createRobot({
    ...robot,
    wallet,
    name: 'arm',
    description: null,
    createdAt: now,
  });
  // It is in the way for good.
  await client.query('CREATE TABLE telemetry_20260202 (taken text)');
  clock.advance(21 * DAY);
  const store = await opened.reopen();
  const recordedAt = clock.now();
  const sample = { id: uuid(), recordedAt, batteryPct: 50, state: null, metrics: '{}' };

  await store.recordSamples({
    robotId: robot.id,
    ...robot,
    samples: [sample],
    now: recordedAt,
  });

  expect(await samplesIn('telemetry_rest')).toBe(1);
});
