import { v7 as newId } from 'uuid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import type { NewRobot, RobotPatch } from '../../src/server/ports/robots.ts';
import { newWallet, type OpenStore, World } from './world.ts';

export function robotContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  const patch = (robot: NewRobot, changes: RobotPatch) =>
    world.store.patchRobot(robot.id, robot.wallet, changes, world.now);

  it('creates a robot and returns all its fields', async () => {
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
        batteryLowSince: null,
        state: null,
        stateSince: null,
        stateAt: null,
        clockBehind: null,
        lastError: null,
        currentTask: null,
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

  it('enforces the ceiling of the account under concurrent calls', async () => {
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

  it('finds a robot only in its own account', async () => {
    const robot = await world.robot();

    expect(await world.store.getRobot(robot.id, robot.wallet)).toMatchObject({ id: robot.id });
    expect(await world.store.getRobot(robot.id, newWallet())).toBeNull();
    expect(await world.store.getRobot(newId(), robot.wallet)).toBeNull();
  });

  describe('patching', () => {
    it('changes the given fields, clears those given as null, and keeps the rest', async () => {
      const robot = await world.robot();
      const fleet = await world.fleet(robot.wallet);
      const before = await world.store.getRobot(robot.id, robot.wallet);
      world.clock.advance(1000);

      const first = await patch(robot, { description: 'left arm', fleetId: fleet.id });
      const second = await patch(robot, { name: 'Packer 1', description: null });

      const grouped = { ...before, fleetId: fleet.id, updatedAt: world.now };
      expect(first).toEqual({
        outcome: 'patched',
        robot: { ...grouped, description: 'left arm' },
      });
      expect(second).toEqual({ outcome: 'patched', robot: { ...grouped, name: 'Packer 1' } });
      expect(await world.store.getRobot(robot.id, robot.wallet)).toEqual({
        ...grouped,
        name: 'Packer 1',
      });
    });

    it('keeps the key', async () => {
      const robot = await world.robot();

      await patch(robot, { name: 'Packer 1' });

      expect(await world.store.authenticateRobot(robot.keyHash)).not.toBeNull();
    });

    it('refuses a fleet of another account, and then changes nothing', async () => {
      const robot = await world.robot();
      const foreign = await world.fleet(await world.account());

      for (const fleetId of [foreign.id, newId()]) {
        const result = await patch(robot, { name: 'Packer 1', fleetId });
        expect(result).toEqual({ outcome: 'fleet_not_found' });
      }
      expect(await world.store.getRobot(robot.id, robot.wallet)).toMatchObject({
        name: robot.name,
        fleetId: null,
      });
    });

    it('finds no robot of another account', async () => {
      const robot = await world.robot();

      const result = await patch({ ...robot, wallet: await world.account() }, { name: 'mine' });

      expect(result).toEqual({ outcome: 'robot_not_found' });
    });
  });

  describe('assigning to a fleet', () => {
    it('moves the robots, and returns them in the given order', async () => {
      const wallet = await world.account();
      const fleet = await world.fleet(wallet);
      const [first, second, third] = [
        await world.robot(wallet),
        await world.robot(wallet),
        await world.robot(wallet),
      ];
      world.clock.advance(1000);

      const ids = [third.id, first.id];
      const assigned = await world.store.assignRobots(wallet, ids, fleet.id, world.now);

      expect(assigned).toMatchObject({
        outcome: 'assigned',
        robots: ids.map((id) => ({ id, fleetId: fleet.id, updatedAt: world.now })),
      });
      expect((await world.store.getFleet(fleet.id, wallet))?.robotCount).toBe(2);
      expect((await world.store.getRobot(second.id, wallet))?.fleetId).toBeNull();
    });

    it('removes them from any fleet with null', async () => {
      const robot = await world.robot();
      const fleet = await world.fleet(robot.wallet);
      await patch(robot, { fleetId: fleet.id });

      await world.store.assignRobots(robot.wallet, [robot.id], null, world.now);

      expect((await world.store.getRobot(robot.id, robot.wallet))?.fleetId).toBeNull();
    });

    it('moves none if one of them or the fleet belongs to another account', async () => {
      const robot = await world.robot();
      const fleet = await world.fleet(robot.wallet);
      const other = await world.robot();
      const foreign = await world.fleet(other.wallet);
      const assign = (ids: string[], fleetId: string) =>
        world.store.assignRobots(robot.wallet, ids, fleetId, world.now);

      expect(await assign([robot.id, other.id], fleet.id)).toEqual({ outcome: 'robot_not_found' });
      expect(await assign([robot.id], foreign.id)).toEqual({ outcome: 'fleet_not_found' });
      expect((await world.store.getRobot(robot.id, robot.wallet))?.fleetId).toBeNull();
    });
  });

  describe('replacing the key', () => {
    const newKey = 'b'.repeat(64);

    it('revokes the old key immediately and accepts the new one', async () => {
      const robot = await world.robot();
      world.clock.advance(1000);

      const replaced = await world.store.replaceKey(robot.id, robot.wallet, newKey, world.now);

      expect(replaced).toMatchObject({
        id: robot.id,
        keyHint: 'b'.repeat(8),
        updatedAt: world.now,
      });
      expect(await world.store.authenticateRobot(robot.keyHash)).toBeNull();
      expect((await world.store.authenticateRobot(newKey))?.robot.id).toBe(robot.id);
    });

    it('removes the key of the robot, and gives it one again', async () => {
      const robot = await world.robot();

      const ended = await world.store.replaceKey(robot.id, robot.wallet, null, world.now);
      const gone = await world.store.authenticateRobot(robot.keyHash);
      await world.store.replaceKey(robot.id, robot.wallet, newKey, world.now);

      expect(ended?.keyHint).toBeNull();
      expect(gone).toBeNull();
      expect(await world.store.authenticateRobot(newKey)).not.toBeNull();
    });

    it('refuses claims and completions of the old key that were authenticated before', async () => {
      await world.lease();
      const robot = await world.robot();
      const task = await world.task(robot.id);
      await world.store.authenticateRobot(robot.keyHash);

      await world.store.replaceKey(robot.id, robot.wallet, newKey, world.now);

      expect(await world.store.createTask(world.newTask(robot.id))).toEqual({
        outcome: 'key_revoked',
      });
      expect(await world.store.queueCompletion(world.completion(task))).toEqual({
        outcome: 'key_revoked',
      });
    });

    it('finds no robot of another account', async () => {
      const robot = await world.robot();

      expect(await world.store.replaceKey(robot.id, newWallet(), null, world.now)).toBeNull();
      expect(await world.store.authenticateRobot(robot.keyHash)).not.toBeNull();
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
