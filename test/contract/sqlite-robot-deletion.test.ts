import { afterEach, beforeEach, expect, it } from 'vitest';
import type { NewRobot } from '../../src/server/core/robot-store.ts';
import { openTemporarySqlite } from './temporary-sqlite.ts';
import { World } from './world.ts';

let world: World;
let robot: NewRobot;
let commits: number;

beforeEach(async () => {
  const onCommit = () => {
    commits += 1;
  };
  world = await World.open((clock, limits) => openTemporarySqlite(clock, { ...limits, onCommit }));
  await world.lease();
  robot = await world.robot(await world.account(1_000));
});
afterEach(() => world.close());

async function deleteRobot(): Promise<void> {
  commits = 0;
  await world.store.deleteRobot(robot.id, robot.wallet, world.now);
}

it('forgets at most 100 tasks in a commit, however much waits to be signed', async () => {
  const other = await world.robot(robot.wallet);
  await world.queued(robot.id, 250);
  const [kept] = await world.queued(other.id, 1);

  await deleteRobot();

  // And the robot itself.
  expect(commits).toBeGreaterThanOrEqual(4);
  expect(await world.store.getTask(kept?.id ?? '', { robotId: other.id })).not.toBeNull();
});

it('forgets fewer tasks in a commit where their evidence is large', async () => {
  for (let i = 0; i < 90; i += 1) {
    const task = await world.task(robot.id);
    const done = await world.store.queueCompletion(
      world.completion(task, { seen: `${i}`.repeat(125_000) }),
    );
    expect(done).toEqual({ outcome: 'queued' });
  }

  await deleteRobot();

  expect(commits).toBeGreaterThan(2);
});
