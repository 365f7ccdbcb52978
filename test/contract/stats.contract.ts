import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Severity } from '../../src/protocol/telemetry.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import { newWallet, type OpenStore, World } from './world.ts';

const HOUR = 3_600_000;

export function statsContract(open: OpenStore): void {
  let world: World;
  let robot: NewRobot;
  beforeEach(async () => {
    world = await World.open(open);
    robot = await world.robot(await world.account(100, 10n ** 20n));
  });
  afterEach(() => world.close());

  const stats = (fleetId: string | null = null, wallet = robot.wallet, from = 0) =>
    world.store.readStats({ wallet, fleetId }, { hoursFrom: from, daysFrom: from });
  const sample = (recordedAt: number, batteryPct: number | null = null) =>
    world.store.recordSamples({
      robotId: robot.id,
      keyHash: robot.keyHash,
      samples: [{ id: uuid(), recordedAt, batteryPct, state: 'busy', metrics: '{}' }],
      now: world.now,
    });
  const event = (severity: Severity, id = uuid(), occurredAt: string | null = null) =>
    world.store.createEvent({
      id,
      robotId: robot.id,
      keyHash: robot.keyHash,
      eventType: 'info',
      severity,
      message: '',
      payload: '{}',
      occurredAt,
      createdAt: world.now,
    });
  const moveTo = (fleetId: string | null) =>
    world.store.patchRobot(robot.id, robot.wallet, { fleetId }, world.now);

  it('are empty for an account that does not exist', async () => {
    expect(await stats(null, newWallet())).toEqual({
      robots: [],
      tasks: { claimed: 0, verified: 0 },
      hours: [],
      days: [],
    });
  });

  it('include the last state of every robot of the account', async () => {
    await world.robot(robot.wallet);
    await world.robot();
    await sample(world.now, 55);

    const found = await stats();

    expect(found?.robots).toHaveLength(2);
    expect(found?.robots).toContainEqual({
      lastSeenAt: world.now,
      batteryPct: 55,
      state: 'busy',
    });
  });

  it('count tasks by status', async () => {
    const lease = await world.lease();
    await world.queued(robot.id, 3);
    await world.settled(lease);
    await world.task(robot.id);

    expect((await stats())?.tasks).toEqual({ claimed: 1, verified: 3 });
  });

  it('do not count a task after its robot is deleted', async () => {
    const other = await world.robot(robot.wallet);
    await world.task(other.id);
    await world.task(robot.id);

    await world.store.deleteRobot(robot.id, robot.wallet, world.now);

    expect((await stats())?.tasks).toEqual({ claimed: 1, verified: 0 });
  });

  it('count samples by the hour they were recorded in, each once', async () => {
    await sample(world.now);
    await sample(world.now + 1);
    await sample(world.now - HOUR);

    const found = await stats();

    expect(found?.hours.map(({ at, samples }) => [at, samples])).toEqual([
      [world.now - HOUR, 1],
      [world.now, 2],
    ]);
    expect((await stats(null, robot.wallet, world.now))?.hours).toHaveLength(1);
  });

  it('count events by severity and the hour they occurred in, each once', async () => {
    const id = uuid();
    await event('warn', id);
    await event('warn', id);
    await event('info');
    await event('error');
    await event('error', uuid(), new Date(world.now + HOUR).toISOString());
    await event('error', uuid(), new Date(world.now - HOUR).toISOString());

    expect((await stats())?.hours).toEqual([
      { at: world.now - HOUR, samples: 0, events: { info: 0, warn: 0, error: 1 } },
      { at: world.now, samples: 0, events: { info: 1, warn: 1, error: 2 } },
    ]);
  });

  it('count an event that occurred long ago in the oldest hour that they show', async () => {
    for (const years of [1, 5, 20]) {
      const then = world.now - years * 365 * 24 * HOUR;
      await event('error', uuid(), new Date(then).toISOString());
    }

    const oldest = { at: world.now - 31 * 24 * HOUR, samples: 0 };
    const found = await stats(null, robot.wallet, 0);
    expect(found?.hours).toEqual([{ ...oldest, events: { info: 0, warn: 0, error: 3 } }]);
  });

  it('count anchors and their cost on the day they were settled', async () => {
    const lease = await world.lease();
    const before = await world.store.getBalance(robot.wallet);
    await world.queued(robot.id, 3);
    await world.settled(lease);
    const after = await world.store.getBalance(robot.wallet);

    const found = await stats();

    const spent = (before?.gasCreditWei ?? 0n) - (after?.gasCreditWei ?? 0n);
    expect(spent > 0n).toBe(true);
    expect(found?.days).toEqual([{ at: world.now - 12 * HOUR, anchors: 3, gasWei: spent }]);
    expect(await world.store.checkInvariants()).toEqual([]);
  });

  it('keep the spending of an account after the robot is deleted', async () => {
    const lease = await world.lease();
    await world.queued(robot.id, 1);
    const attempt = await world.included(lease);
    await world.store.deleteRobot(robot.id, robot.wallet, world.now);

    await world.store.settleLeaves(lease, attempt.id, 10, world.now);

    expect((await stats())?.days).toMatchObject([{ anchors: 1 }]);
    expect(await world.store.checkInvariants()).toEqual([]);
  });

  it('of one fleet cover its current robots, and what happened while they were in it', async () => {
    const fleet = await world.fleet(robot.wallet);
    const lease = await world.lease();
    await sample(world.now);
    await moveTo(fleet.id);
    await sample(world.now);
    await event('warn');
    await world.queued(robot.id, 1);
    await world.settled(lease);
    await world.robot(robot.wallet);

    expect(await stats(fleet.id)).toMatchObject({
      robots: [{ state: 'busy' }],
      tasks: { claimed: 0, verified: 1 },
      hours: [{ samples: 1, events: { info: 0, warn: 1, error: 0 } }],
      days: [{ anchors: 1 }],
    });
    expect(await stats()).toMatchObject({ hours: [{ samples: 2 }] });

    await moveTo(null);
    expect(await stats(fleet.id)).toMatchObject({ robots: [], hours: [{ samples: 1 }] });
  });

  it('do not exist for a fleet of another account or a deleted one', async () => {
    const fleet = await world.fleet(robot.wallet);

    expect(await stats(fleet.id, newWallet())).toBeNull();
    expect(await stats(uuid())).toBeNull();
    await world.store.deleteFleet(fleet.id, robot.wallet, world.now);
    expect(await stats(fleet.id)).toBeNull();
  });
}
