import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Resolution } from '../../src/protocol/telemetry.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import { type OpenStore, World } from './world.ts';

const MINUTE = 60_000;
const always = { from: 0, to: Number.MAX_SAFE_INTEGER };

export function retentionContract(open: OpenStore): void {
  let world: World;
  let robot: NewRobot;
  beforeEach(async () => {
    world = await World.open(open);
    robot = await world.robot();
  });
  afterEach(() => world.close());

  const record = (from: NewRobot, ages: number[]) =>
    world.store.recordSamples({
      robotId: from.id,
      keyHash: from.keyHash,
      samples: ages.map((age) => ({
        id: uuid(),
        recordedAt: world.now - age,
        batteryPct: null,
        state: null,
        metrics: '{}',
      })),
      now: world.now,
    });
  const log = (from = robot) =>
    world.store.createEvent({
      id: uuid(),
      robotId: from.id,
      keyHash: from.keyHash,
      eventType: 'info',
      severity: 'info',
      message: '',
      payload: '{}',
      occurredAt: null,
      createdAt: world.now,
    });
  const agesOf = async ({ id, wallet }: NewRobot) =>
    (
      await world.store.listSamples({ wallet, robotId: id }, always, { limit: 100, before: null })
    )?.map(({ recordedAt }) => world.now - recordedAt);
  const events = () =>
    world.store.listEvents(
      { wallet: robot.wallet, robotId: null, severity: null, eventType: null },
      { limit: 100, before: null },
    );

  /** How many steps it took. */
  async function deleteSamples(before: number, limit: number): Promise<number> {
    let cursor: string | null = null;
    for (let steps = 1; ; steps += 1) {
      cursor = await world.store.deleteSamples(before, limit, cursor);
      if (cursor === null) return steps;
    }
  }

  it('deletes the samples of every robot that are old enough, and no newer ones', async () => {
    const other = await world.robot();
    const young = await world.robot();
    await record(robot, [1, 5, 10, 11, 20]);
    await record(other, [10, 30]);
    await record(young, [0]);

    await deleteSamples(world.now - 10, 100);

    expect(await agesOf(robot)).toEqual([1, 5, 10]);
    expect(await agesOf(other)).toEqual([10]);
    expect(await agesOf(young)).toEqual([0]);
  });

  it('deletes samples in steps of at most the size asked for, oldest first', async () => {
    await record(robot, [11, 12, 13, 14, 15]);

    await world.store.deleteSamples(world.now - 10, 2, null);
    const left = (await agesOf(robot)) ?? [];
    expect([3, 4]).toContain(left.length);
    expect(left).toEqual([11, 12, 13, 14].slice(0, left.length));

    expect(await deleteSamples(world.now - 10, 2)).toBeGreaterThan(1);
    expect(await agesOf(robot)).toEqual([]);
  });

  const rollups = (resolution: Resolution) =>
    world.store.listRollups({ wallet: robot.wallet, robotId: robot.id }, resolution, always, 100);

  it('keeps hours and days of deleted samples, and deletes the minutes with them', async () => {
    await record(robot, [0, MINUTE, 2 * MINUTE, 3 * MINUTE]);

    await deleteSamples(world.now - MINUTE, 1);

    const hours = await rollups('hour');
    expect(hours?.map(({ summary }) => summary.samples)).toEqual([3, 1]);
    expect((await rollups('day'))?.map(({ summary }) => summary.samples)).toEqual([4]);
    expect((await rollups('minute'))?.map(({ at }) => world.now - at)).toEqual([MINUTE, 0]);
  });

  it('keeps a minute until the last of its samples is deleted', async () => {
    await record(robot, [5, 10, 20]);
    const counted = async () => (await rollups('minute'))?.map(({ summary }) => summary.samples);

    await deleteSamples(world.now - 10, 100);
    expect(await counted()).toEqual([3]);
    expect(await world.store.checkInvariants()).toEqual([]);

    await deleteSamples(world.now, 100);
    expect(await counted()).toEqual([]);
    expect(await world.store.checkInvariants()).toEqual([]);
  });

  it('keeps the invariants, even with late samples', async () => {
    await record(robot, [0, 10, MINUTE, 2 * MINUTE, 90 * MINUTE]);

    await deleteSamples(world.now - 5, 2);
    await record(robot, [3, 20 * MINUTE]);

    expect(await world.store.checkInvariants()).toEqual([]);
  });

  it('visits more robots than one step handles', async () => {
    const wallet = await world.account();
    const robots = await Promise.all(Array.from({ length: 120 }, () => world.robot(wallet)));
    for (const one of robots) await record(one, [1]);
    const last = robots.toSorted((a, b) => (a.id < b.id ? 1 : -1))[0] ?? robot;
    await record(last, [50]);

    await deleteSamples(world.now - 10, 100);

    expect(await agesOf(last)).toEqual([1]);
  });

  it('deletes the events that are old enough, in steps', async () => {
    for (let i = 0; i < 5; i += 1) {
      await log();
      world.clock.advance(10);
    }
    const before = world.now - 20;

    expect(await world.store.deleteEvents(before, 2)).toBe(true);
    expect([3, 4]).toContain((await events())?.length);
    while (await world.store.deleteEvents(before, 2));
    expect((await events())?.map(({ createdAt }) => createdAt)).toEqual([before + 10, before]);
  });

  it('deletes the remains of a deleted robot in steps, and nothing of others', async () => {
    const other = await world.robot(robot.wallet);
    for (const one of [robot, other]) {
      await record(one, [1, 2, 3]);
      await log(one);
    }
    expect(await world.store.deleteTraces(robot.wallet, 2)).toBe(false);
    await world.store.deleteRobot(robot.id, robot.wallet, world.now);

    let steps = 0;
    while (await world.store.deleteTraces(robot.wallet, 2)) steps += 1;

    // Three samples, three roll-ups and one event.
    expect(steps).toBeGreaterThanOrEqual(4);
    expect(await events()).toMatchObject([{ robotId: other.id }]);
    expect(await agesOf(other)).toEqual([1, 2, 3]);
  });

  it('lists each account with remains of deleted robots, whatever their ids', async () => {
    const accounts = [await world.account(), await world.account()].sort();
    for (const wallet of [...accounts, ...accounts]) {
      const { id } = await world.robot(wallet);
      await world.store.deleteRobot(id, wallet, world.now);
    }
    const [first = '', second = ''] = accounts;

    expect(await world.store.nextWithTraces('')).toBe(first);
    expect(await world.store.nextWithTraces(first)).toBe(second);
    expect(await world.store.nextWithTraces(second)).toBeNull();
  });
}
