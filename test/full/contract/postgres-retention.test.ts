import pg from 'pg';
import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { NewRobot } from '../../../src/server/ports/robots.ts';
import { World } from '../../contract/world.ts';
import { openTemporaryPostgres } from './temporary-postgres.ts';

const DAY = 24 * 60 * 60_000;
const always = { from: -DAY, to: Number.MAX_SAFE_INTEGER };

let world: World;
let robot: NewRobot;
let client: pg.Client;
beforeEach(async () => {
  world = await World.open(async (clock) => {
    const opened = await openTemporaryPostgres(clock, { ownDatabase: true });
    client = new pg.Client({ connectionString: opened.url });
    return opened;
  });
  await client.connect();
  robot = await world.robot();
});
afterEach(async () => {
  await client.end();
  await world.close();
});

const record = (from: NewRobot, ages: number[]) =>
  world.store.recordSamples({
    robotId: from.id,
    keyHash: from.keyHash,
    samples: ages.map((age) => ({
      id: uuid(),
      recordedAt: world.now - age,
      batteryPct: null,
      state: 'idle',
      metrics: '{"t":1}',
    })),
    now: world.now,
  });

async function deleteSamples(before: number): Promise<void> {
  let cursor: string | null = null;
  do cursor = await world.store.deleteSamples(before, 500, cursor);
  while (cursor !== null);
}

async function tables(): Promise<string[]> {
  const { rows } = await client.query(
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits
     WHERE inhparent = 'telemetry'::regclass ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

async function agesOf({ id, wallet }: NewRobot): Promise<number[] | undefined> {
  const page = { limit: 100, before: null };
  const samples = await world.store.listSamples({ wallet, robotId: id }, always, page);
  return samples?.map(({ recordedAt }) => world.now - recordedAt);
}

it('drops expired weeks, and deletes the remaining expired rows', async () => {
  const other = await world.robot();
  // It is Thursday noon; last week ended three and a half days ago.
  await record(robot, [0, 2 * DAY, 3 * DAY, 4 * DAY, 10 * DAY]);
  await record(other, [4 * DAY, 300 * DAY]);

  await deleteSamples(world.now - 2 * DAY - 1);

  expect(await tables()).not.toContain('telemetry_20260105');
  expect(await tables()).toContain('telemetry_20260112');
  expect(await agesOf(robot)).toEqual([0, 2 * DAY]);
  expect(await agesOf(other)).toEqual([]);
  expect(await world.store.checkInvariants()).toEqual([]);
});

it('keeps hours and days of a week that is dropped, and deletes its minutes', async () => {
  await record(robot, [0, 4 * DAY, 4 * DAY + 1]);

  await deleteSamples(world.now - 3 * DAY - DAY / 2);

  const { wallet, id: robotId } = robot;
  const samplesBy = async (resolution: 'minute' | 'hour' | 'day') => {
    const found = await world.store.listRollups({ wallet, robotId }, resolution, always, 100);
    return found?.map(({ summary }) => summary.samples);
  };
  expect(await samplesBy('minute')).toEqual([1]);
  expect(await samplesBy('hour')).toEqual([1, 1, 1]);
  expect(await samplesBy('day')).toEqual([2, 1]);
  expect(await world.store.checkInvariants()).toEqual([]);
});

it('deletes row by row if it cannot drop a partition because of a long read', async () => {
  await record(robot, [0, 4 * DAY]);
  await client.query('BEGIN; SELECT FROM telemetry LIMIT 1');

  await deleteSamples(world.now - 3 * DAY - DAY / 2);
  await client.query('COMMIT');

  expect(await tables()).toContain('telemetry_20260105');
  expect(await agesOf(robot)).toEqual([0]);
  expect(await world.store.checkInvariants()).toEqual([]);
});

it('accepts samples while it drops weeks', async () => {
  for (let weeks = 0; weeks < 4; weeks += 1) {
    await record(robot, [0, DAY]);
    world.clock.advance(7 * DAY);
    await world.reopen();
  }

  const [, ...recorded] = await Promise.all([
    deleteSamples(world.now - 8 * DAY),
    ...Array.from({ length: 50 }, (_, i) => record(robot, [i])),
  ]);

  expect(recorded).toEqual(recorded.map(() => ({ outcome: 'recorded' })));
  expect(await agesOf(robot)).toHaveLength(52);
  expect(await world.store.checkInvariants()).toEqual([]);
});
