import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Lease } from '../../src/server/ports/anchoring.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import { watched } from '../support/stream.ts';
import { waitFor } from '../support/wait-for.ts';
import { type OpenStore, World } from './world.ts';

/** What the store passes on of the changes that anchoring makes; test/http/stream.test.ts shows the others. */
export function streamContract(open: OpenStore): void {
  let world: World;
  let lease: Lease;
  let robot: NewRobot;
  let taskId: string;
  beforeEach(async () => {
    world = await World.open(open);
    lease = await world.lease();
    robot = await world.robot();
    [{ id: taskId } = { id: '' }] = await world.queued(robot.id, 1);
  });
  afterEach(() => world.close());

  it('reports each task of a signed transaction to its own account', async () => {
    const stranger = await world.robot();
    const [other = { id: '' }] = await world.queued(stranger.id, 1);
    const [own, theirs] = [robot, stranger].map(({ wallet }) => watched(world.store, wallet));

    expect((await world.committed(lease)).leaves).toHaveLength(2);

    expect(await own?.until(`anchor ${taskId}`)).toEqual([`anchor ${taskId}`]);
    expect(await theirs?.until(`anchor ${other.id}`)).toEqual([`anchor ${other.id}`]);
  });

  it('reports that anything may have changed if a proof was refused, which may open an alert', async () => {
    const { resets } = watched(world.store, robot.wallet);

    await world.store.failQueuedProofs(lease, [taskId], 'reverted', world.now);

    await waitFor('that message', () => resets() > 0);
  });

  it('reports a verified task, and again if its block is replaced', async () => {
    const settled = watched(world.store, robot.wallet);
    const attempt = await world.settled(lease);
    await settled.until(`task ${taskId}`, `anchor ${taskId}`, `credit ${taskId}`);
    const { until } = watched(world.store, robot.wallet);

    await world.reorged(lease, attempt);

    expect(await until(`anchor ${taskId}`)).toEqual([`anchor ${taskId}`]);
  });
}
