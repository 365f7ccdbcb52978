import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { NewRobot } from '../../../src/server/ports/robots.ts';
import type { Store } from '../../../src/server/ports/store.ts';
import type { SampleRecord } from '../../../src/server/ports/telemetry.ts';
import { sha256Hex, type World } from '../../contract/world.ts';
import { type Instances, openInstances } from './instances.ts';

const always = { from: 0, to: Number.MAX_SAFE_INTEGER };

let instances: Instances;
let world: World;
beforeEach(async () => {
  instances = await openInstances(2);
  world = instances.world;
});
afterEach(() => instances.close());

const sample = (changes: Partial<SampleRecord> = {}): SampleRecord => ({
  id: uuid(),
  recordedAt: world.now,
  batteryPct: 50,
  state: 'idle',
  metrics: '{"t":1}',
  ...changes,
});
const record = (store: Store, { id, keyHash }: NewRobot, samples: SampleRecord[]) =>
  store.recordSamples({ robotId: id, keyHash, samples, now: world.now });
const samplesOf = ({ wallet, id }: NewRobot) =>
  world.store.listSamples({ wallet, robotId: id }, always, { limit: 1000, before: null });

it('answers each request of a burst separately', async () => {
  const wallet = await world.account();
  const robots = await Promise.all(Array.from({ length: 90 }, () => world.robot(wallet)));
  const [stored, gone] = robots;
  if (stored === undefined || gone === undefined) throw new Error('Two robots');
  const first = sample();
  await record(world.store, stored, [first]);

  const results = await Promise.all([
    record(world.store, stored, [sample(), { ...first, state: 'busy' }]),
    record(world.store, { ...gone, keyHash: sha256Hex('an older key') }, [sample()]),
    ...robots.map((robot) => record(world.store, robot, [sample()])),
  ]);

  expect(results).toEqual([
    { outcome: 'id_conflict', index: 1 },
    { outcome: 'key_revoked' },
    ...robots.map(() => ({ outcome: 'recorded' })),
  ]);
  expect(await samplesOf(stored)).toHaveLength(2);
  expect(await samplesOf(gone)).toHaveLength(1);
  expect(await world.store.checkInvariants()).toEqual([]);
});

it('reports a conflict within one request, and stores nothing of it', async () => {
  const robot = await world.robot();
  const first = sample();

  const result = await record(world.store, robot, [first, first, { ...first, batteryPct: 1 }]);

  expect(result).toEqual({ outcome: 'id_conflict', index: 2 });
  expect(await samplesOf(robot)).toEqual([]);
});

it('counts samples sent to two instances at once', async () => {
  const wallet = await world.account();
  const robots = await Promise.all(Array.from({ length: 5 }, () => world.robot(wallet)));
  const both = robots.map((robot) => ({ robot, same: sample() }));

  await Promise.all(
    instances.stores.flatMap((store) =>
      Array.from({ length: 20 }, (_, i) =>
        both.map(({ robot, same }) =>
          record(store, robot, [same, sample({ recordedAt: world.now - i * 60_000 })]),
        ),
      ).flat(),
    ),
  );

  for (const robot of robots) expect(await samplesOf(robot)).toHaveLength(41);
  const since = { hoursFrom: 0, daysFrom: 0 };
  const stats = await world.store.readStats({ wallet, fleetId: null }, since);
  expect(stats?.hours.reduce((sum, { samples }) => sum + samples, 0)).toBe(5 * 41);
  expect(await world.store.checkInvariants()).toEqual([]);
});

it('accepts no sample with a key that was changed on another instance', async () => {
  const robot = await world.robot();
  const [one, other] = instances.stores;
  await instances.session.query('BEGIN');
  await instances.session.query('UPDATE robots SET key_hash = $2 WHERE id = $1', [
    robot.id,
    sha256Hex('a newer key'),
  ]);
  const results = Promise.all([
    record(one, robot, [sample()]),
    other.createEvent({
      id: uuid(),
      robotId: robot.id,
      keyHash: robot.keyHash,
      eventType: 'x',
      severity: 'info',
      message: '',
      payload: '{}',
      occurredAt: null,
      createdAt: world.now,
    }),
  ]);
  await instances.blocked(2);

  await instances.session.query('COMMIT');

  expect(await results).toEqual([{ outcome: 'key_revoked' }, { outcome: 'key_revoked' }]);
  expect(await samplesOf(robot)).toEqual([]);
});
