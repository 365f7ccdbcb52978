import fc from 'fast-check';
import { v7 as newId } from 'uuid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import type { FleetPatch, FleetRecord } from '../../src/server/ports/fleets.ts';
import { newWallet, type OpenStore, World } from './world.ts';

export function fleetContract(open: OpenStore): void {
  let world: World;
  let wallet: string;
  beforeEach(async () => {
    world = await World.open(open);
    wallet = await world.account();
  });
  afterEach(() => world.close());

  const listed = () => world.store.listFleets(wallet, limits.fleetsPerAccount, null);
  const namesOf = (fleets: FleetRecord[] | null) => fleets?.map(({ name }) => name);
  const patch = (id: string, changes: FleetPatch) =>
    world.store.patchFleet(id, wallet, changes, world.now);

  async function named(...names: string[]): Promise<FleetRecord[]> {
    const fleets: FleetRecord[] = [];
    for (const name of names) fleets.push(await world.fleet(wallet, { name }));
    return fleets;
  }

  it('creates a fleet and returns all its fields', async () => {
    const fleet = world.newFleet(wallet, {
      description: 'day crew',
      location: 'Hall 3',
      shift: 'early',
      tags: ['picking', 'cold'],
    });

    const created = await world.store.createFleet(fleet);

    const stored = { ...fleet, sortOrder: 0, updatedAt: world.now, robotCount: 0 };
    expect(created).toEqual({ outcome: 'created', fleet: stored });
    expect(await world.store.getFleet(fleet.id, wallet)).toEqual(stored);
  });

  it('finds a fleet only in its own account', async () => {
    const { id } = await world.fleet(wallet);

    expect(await world.store.getFleet(id, newWallet())).toBeNull();
    expect(await world.store.getFleet(newId(), wallet)).toBeNull();
  });

  it('puts a new fleet last', async () => {
    const [first] = await named('a');
    await patch(first?.id ?? '', { sortOrder: 7 });

    const next = await world.fleet(wallet);

    expect(next.sortOrder).toBe(8);
  });

  it('puts a new fleet last even at the maximum order', async () => {
    const [first] = await named('a');
    await patch(first?.id ?? '', { sortOrder: limits.sortOrderMax });

    await named('b');

    expect(namesOf(await listed())).toEqual(['a', 'b']);
  });

  it('enforces the ceiling of the account under concurrent calls', async () => {
    const create = (count: number) =>
      Promise.all(
        Array.from({ length: count }, () => world.store.createFleet(world.newFleet(wallet))),
      );
    await create(limits.fleetsPerAccount - 5);

    const outcomes = await create(20);

    expect(outcomes.filter(({ outcome }) => outcome === 'created')).toHaveLength(5);
    expect(outcomes.filter(({ outcome }) => outcome === 'fleet_limit_reached')).toHaveLength(15);
    expect(await listed()).toHaveLength(limits.fleetsPerAccount);
    expect(await world.store.createFleet(world.newFleet(await world.account()))).toMatchObject({
      outcome: 'created',
    });
  });

  it('frees room under the ceiling when a fleet is deleted', async () => {
    const fleets = await named(...Array.from({ length: limits.fleetsPerAccount }, () => 'full'));
    await world.store.deleteFleet(fleets[0]?.id ?? '', wallet, world.now);

    const again = await world.store.createFleet(world.newFleet(wallet));

    expect(again.outcome).toBe('created');
  });

  it('lists in display order, the older first among equals, in pages', async () => {
    const [a, b] = await named('a', 'b', 'c', 'd', 'e');
    await patch(a?.id ?? '', { sortOrder: 9 });
    await patch(b?.id ?? '', { sortOrder: 2 });
    await world.fleet(await world.account());

    const pages = [await world.store.listFleets(wallet, 2, null)];
    for (let last = pages[0]?.at(-1); last; last = pages.at(-1)?.at(-1)) {
      pages.push(await world.store.listFleets(wallet, 2, last));
    }

    expect(pages.map(namesOf)).toEqual([['b', 'c'], ['d', 'e'], ['a'], []]);
  });

  describe('patching', () => {
    it('changes the given fields, clears those given as null, and keeps the rest', async () => {
      const fleet = await world.fleet(wallet, { location: 'Hall 3', tags: ['a', 'b'] });
      world.clock.advance(1000);

      const first = await patch(fleet.id, { description: 'day crew', location: null, tags: ['c'] });
      const second = await patch(fleet.id, { name: 'South hall', shift: 'late', sortOrder: 4 });

      const changed = { ...fleet, description: 'day crew', location: null, tags: ['c'] };
      expect(first).toEqual({ ...changed, updatedAt: world.now });
      expect(second).toEqual({
        ...changed,
        name: 'South hall',
        shift: 'late',
        sortOrder: 4,
        updatedAt: world.now,
      });
      expect(await world.store.getFleet(fleet.id, wallet)).toEqual(second);
    });

    it('finds no fleet of another account', async () => {
      const foreign = await world.fleet(await world.account());

      expect(await patch(foreign.id, { name: 'mine' })).toBeNull();
      expect(await world.store.getFleet(foreign.id, foreign.wallet)).toEqual(foreign);
    });
  });

  describe('deleting', () => {
    it('leaves its robots without a fleet', async () => {
      const [fleet, other] = await named('a', 'b');
      const [robot, kept] = [await world.robot(wallet), await world.robot(wallet)];
      await world.store.assignRobots(wallet, [robot.id], fleet?.id ?? '', world.now);
      await world.store.assignRobots(wallet, [kept.id], other?.id ?? '', world.now);
      world.clock.advance(1000);

      const deleted = await world.store.deleteFleet(fleet?.id ?? '', wallet, world.now);

      expect(deleted).toBe(true);
      expect(await world.store.getFleet(fleet?.id ?? '', wallet)).toBeNull();
      expect(await world.store.getRobot(robot.id, wallet)).toMatchObject({
        fleetId: null,
        updatedAt: world.now,
      });
      expect((await world.store.getRobot(kept.id, wallet))?.fleetId).toBe(other?.id);
      expect(await world.store.checkInvariants()).toEqual([]);
    });

    it('finds no fleet of another account', async () => {
      const foreign = await world.fleet(await world.account());

      expect(await world.store.deleteFleet(foreign.id, wallet, world.now)).toBe(false);
      expect(await world.store.getFleet(foreign.id, foreign.wallet)).not.toBeNull();
    });
  });

  describe('reordering', () => {
    it('puts the named fleets first and keeps the others after them', async () => {
      const [, b, , d] = await named('a', 'b', 'c', 'd', 'e');
      world.clock.advance(1000);

      const fleets = await world.store.reorderFleets(wallet, [d?.id ?? '', b?.id ?? ''], world.now);

      expect(namesOf(fleets)).toEqual(['d', 'b', 'a', 'c', 'e']);
      expect(fleets?.map(({ sortOrder }) => sortOrder)).toEqual([0, 1, 2, 3, 4]);
      expect(await listed()).toEqual(fleets);
    });

    it('changes nothing if a named fleet belongs to another account', async () => {
      const [a, b] = await named('a', 'b');
      const foreign = await world.fleet(await world.account());

      const fleets = await world.store.reorderFleets(
        wallet,
        [b?.id ?? '', foreign.id, a?.id ?? ''],
        world.now,
      );

      expect(fleets).toBeNull();
      expect(namesOf(await listed())).toEqual(['a', 'b']);
    });

    it('does not change a fleet that keeps its place', async () => {
      const [a, b, c] = await named('a', 'b', 'c');
      world.clock.advance(1000);

      await world.store.reorderFleets(wallet, [a?.id ?? '', c?.id ?? ''], world.now);

      expect(await world.store.getFleet(a?.id ?? '', wallet)).toEqual(a);
      expect((await world.store.getFleet(b?.id ?? '', wallet))?.updatedAt).toBe(world.now);
    });

    it('puts the named fleets first and the others in their order, whatever the order before', async () => {
      const fleets = await named('a', 'b', 'c', 'd', 'e', 'f');
      const ids = fleets.map(({ id }) => id);
      await fc.assert(
        fc.asyncProperty(fc.shuffledSubarray(ids), async (order) => {
          const before = (await listed()).map(({ id }) => id);

          await world.store.reorderFleets(wallet, order, world.now);

          const after = (await listed()).map(({ id }) => id);
          expect(after).toEqual([...order, ...before.filter((id) => !order.includes(id))]);
        }),
        { numRuns: 50 },
      );
    });
  });
}
