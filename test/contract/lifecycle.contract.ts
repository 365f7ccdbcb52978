import { afterEach, beforeEach, expect, it } from 'vitest';
import { failsWith, newWallet, type OpenStore, World } from './world.ts';

export function lifecycleContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  it('probes that writes become durable', async () => {
    await world.store.probe();
    await world.store.probe();
  });

  it('keeps what was written when it is opened again', async () => {
    const lease = await world.lease();
    const robot = await world.robot();
    const [task] = await world.queued(robot.id, 2);
    await world.settled(lease);
    const stored = await world.store.getTask(task?.id ?? '', { robotId: robot.id });

    await world.reopen();

    expect(await world.store.getTask(task?.id ?? '', { robotId: robot.id })).toEqual(stored);
    expect(await world.store.checkInvariants()).toEqual([]);
  });

  it('finishes writes in progress when it is closed, and refuses later calls', async () => {
    const wallet = newWallet();
    const { store } = world;

    const calls = [world.grant(wallet, 1, 1n), store.close(), world.grant(wallet, 1, 1n)];
    const [underWay, , late] = await Promise.allSettled(calls);

    expect(underWay?.status).toBe('fulfilled');
    expect(late).toMatchObject({ reason: failsWith('storage_unavailable') });
    await expect(store.getBalance(wallet)).rejects.toMatchObject(failsWith('storage_unavailable'));
    await expect(store.probe()).rejects.toMatchObject(failsWith('storage_unavailable'));
    await world.reopen();
    expect(await world.store.getBalance(wallet)).toMatchObject({ anchorQuota: 1 });
  });

  it('may be closed twice', async () => {
    await Promise.all([world.store.close(), world.store.close()]);
  });
}
