import { expect, it } from 'vitest';
import { openTemporarySqlite } from './temporary-sqlite.ts';
import { World } from './world.ts';

it('forgets a robot in short commits, however much waits to be signed', async () => {
  let commits = 0;
  const world = await World.open((clock, limits) =>
    openTemporarySqlite(clock, {
      ...limits,
      onCommit: () => {
        commits += 1;
      },
    }),
  );
  try {
    const lease = await world.lease();
    const robot = await world.robot(await world.account(1_000));
    const other = await world.robot(robot.wallet);
    await world.queued(robot.id, 250);
    const kept = await world.queued(other.id, 5);
    commits = 0;

    await world.store.deleteRobot(robot.id, robot.wallet, world.now);

    // At most 100 tasks each, and the robot itself.
    expect(commits).toBeGreaterThanOrEqual(4);
    const queued = await world.store.listQueuedProofs(lease, 1_000);
    expect(queued.map(({ taskId }) => taskId)).toEqual(kept.map(({ id }) => id));
  } finally {
    await world.close();
  }
});
