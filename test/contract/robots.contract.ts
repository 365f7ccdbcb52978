import { afterEach, beforeEach, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { type OpenStore, World } from './world.ts';

export function robotContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  it('creates a robot and answers it whole', async () => {
    const robot = world.newRobot(await world.account());

    const created = await world.store.createRobot(robot);

    expect(created).toEqual({
      outcome: 'created',
      robot: {
        id: robot.id,
        wallet: robot.wallet,
        name: 'Picker 7',
        description: null,
        fleetId: null,
        keyHint: robot.keyHash.slice(0, 8),
        createdAt: world.now,
        updatedAt: world.now,
        lastSeenAt: null,
        batteryPct: null,
        state: null,
      },
    });
  });

  it('finds the robot of a key and counts the call', async () => {
    const robot = await world.robot();

    const found = await world.store.authenticateRobot(robot.keyHash);

    expect(found?.robot.id).toBe(robot.id);
    expect(found?.count).toEqual({ allowed: true, limit: 600, remaining: 599, resetMs: 60_000 });
  });

  it('knows no robot for an unknown key', async () => {
    expect(await world.store.authenticateRobot('unknown')).toBeNull();
  });

  it('refuses calls beyond the limit of the robot, and of no other', async () => {
    const [robot, other] = [await world.robot(), await world.robot()];
    for (let i = 0; i < limits.robotCallsPerWindow; i += 1) {
      await world.store.authenticateRobot(robot.keyHash);
    }

    const refused = await world.store.authenticateRobot(robot.keyHash);
    expect(refused?.count).toMatchObject({ allowed: false, remaining: 0 });
    expect((await world.store.authenticateRobot(other.keyHash))?.count.allowed).toBe(true);
    world.clock.advance(60_000);
    expect((await world.store.authenticateRobot(robot.keyHash))?.count.remaining).toBe(599);
  });

  it('holds the ceiling of the account under concurrent calls', async () => {
    const wallet = await world.account();
    const robots = (count: number) => Array.from({ length: count }, () => world.newRobot(wallet));
    await Promise.all(
      robots(limits.robotsPerAccount - 5).map((robot) => world.store.createRobot(robot)),
    );

    const outcomes = await Promise.all(robots(20).map((robot) => world.store.createRobot(robot)));

    expect(outcomes.filter(({ outcome }) => outcome === 'created')).toHaveLength(5);
    expect(outcomes.filter(({ outcome }) => outcome === 'robot_limit_reached')).toHaveLength(15);
    expect(await world.store.createRobot(world.newRobot(await world.account()))).toMatchObject({
      outcome: 'created',
    });
  });

  it('lists the robots of an account in pages, oldest first', async () => {
    const wallet = await world.account();
    const ids = [];
    for (let i = 0; i < 5; i += 1) ids.push((await world.robot(wallet)).id);
    await world.robot();

    const first = await world.store.listRobots(wallet, 3, null);
    const second = await world.store.listRobots(wallet, 3, first[2]?.id ?? null);

    expect([first, second].map((page) => page.map(({ id }) => id))).toEqual([
      ids.slice(0, 3),
      ids.slice(3),
    ]);
  });
}
