import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  deleteExpired,
  type RetentionOptions,
  startRetention,
} from '../../src/server/core/retention.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import { openTemporarySqlite } from '../contract/temporary-sqlite.ts';
import { failsWith, World } from '../contract/world.ts';
import { watched } from '../support/stream.ts';
import { waitFor } from '../support/wait-for.ts';

const DAY = 24 * 3_600_000;

let world: World;
let robot: NewRobot;
let errors: unknown[];
beforeEach(async () => {
  world = await World.open(openTemporarySqlite);
  robot = await world.robot();
  errors = [];
});
afterEach(() => world.close());

const options = (changes: Partial<RetentionOptions> = {}): RetentionOptions => ({
  store: world.store,
  clock: world.clock,
  telemetryRetentionMs: null,
  eventRetentionMs: null,
  proofRetentionMs: null,
  onError: (error) => errors.push(error),
  ...changes,
});

/** One sample and one event a day, the newest now. */
async function history(days: number): Promise<void> {
  const { id: robotId, keyHash } = robot;
  for (let day = 0; day < days; day += 1) {
    if (day > 0) world.clock.advance(DAY);
    const now = world.now;
    const reading = { batteryPct: null, state: null, metrics: '{}' };
    const samples = [{ id: uuid(), recordedAt: now, ...reading }];
    await world.store.recordSamples({ robotId, keyHash, samples, now });
    await world.store.createEvent({
      id: uuid(),
      robotId,
      keyHash,
      eventType: 'info',
      severity: 'info',
      message: '',
      payload: '{}',
      occurredAt: null,
      createdAt: now,
    });
  }
}

async function left() {
  const { wallet, id: robotId } = robot;
  const always = { from: 0, to: Number.MAX_SAFE_INTEGER };
  const page = { limit: 100, before: null };
  const samples = await world.store.listSamples({ wallet, robotId }, always, page);
  const filter = { wallet, robotId: null, severity: null, eventType: null };
  const events = await world.store.listEvents(filter, page);
  return { samples: samples?.length, events: events?.length };
}

it('deletes samples and events beyond their own age', async () => {
  await history(10);

  const ages = { telemetryRetentionMs: 3 * DAY, eventRetentionMs: 5 * DAY };
  await deleteExpired(options(ages), new AbortController().signal);

  expect(await left()).toEqual({ samples: 4, events: 6 });
});

it('deletes entries of the audit log after a year', async () => {
  const rotate = () => {
    const by = { actor: 'session', actor_name: null, source: null, at: world.now } as const;
    return world.store.replaceKey(robot.id, robot.wallet, null, world.now, by);
  };
  await rotate();
  world.clock.advance(DAY);
  await rotate();
  world.clock.advance(364 * DAY + 1);

  await deleteExpired(options(), new AbortController().signal);

  expect(await world.store.listAuditLog(robot.wallet, 10, null)).toMatchObject([
    { at: world.now - 364 * DAY - 1 },
  ]);
});

it('keeps everything if no age is set', async () => {
  await history(3);

  await deleteExpired(options(), new AbortController().signal);

  expect(await left()).toEqual({ samples: 3, events: 3 });
});

it('starts immediately, tells the streams, and stops on request', async () => {
  await history(3);
  const { resets } = watched(world.store, robot.wallet);

  const retention = startRetention(options({ telemetryRetentionMs: DAY }));
  await waitFor('the old sample to be deleted', async () => (await left()).samples === 2);
  await waitFor('the message to the streams', () => resets() === 1);
  await retention.stop();

  expect(errors).toEqual([]);
});

it('deletes by age even while remains of deleted robots never end', async () => {
  await history(3);

  const store: RetentionOptions['store'] = {
    ...world.store,
    nextWithTraces: async () => robot.wallet,
    deleteTraces: async () => true,
  };
  const retention = startRetention(options({ store, telemetryRetentionMs: DAY }));
  await waitFor('the old sample to be deleted', async () => (await left()).samples === 2);
  await retention.stop();

  expect(errors).toEqual([]);
});

it('alternates between accounts with remains of deleted robots', async () => {
  const accounts = [await world.account(), await world.account()].sort();
  for (const wallet of accounts.flatMap((one) => [one, one, one])) {
    const { id } = await world.robot(wallet);
    await world.store.deleteRobot(id, wallet, world.now);
  }
  const steps = vi.spyOn(world.store, 'deleteTraces');
  const retention = startRetention(options());
  await waitFor('the end', async () => (await world.store.nextWithTraces('')) === null);
  await retention.stop();

  const [first, second] = accounts;
  const taken = steps.mock.calls.map(([wallet]) => wallet);
  expect(taken).toEqual([first, second, first, second, first, second]);
});

it('reports a failed round and continues', async () => {
  await world.store.close();

  const retention = startRetention(options({ telemetryRetentionMs: DAY }));
  await waitFor('the failure', () => errors.length > 0);
  await retention.stop();

  expect(errors[0]).toEqual(expect.objectContaining(failsWith('storage_unavailable')));
});
