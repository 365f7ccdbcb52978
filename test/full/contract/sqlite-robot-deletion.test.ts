import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { NewRobot } from '../../../src/server/ports/robots.ts';
import { openTemporarySqlite } from '../../contract/temporary-sqlite.ts';
import { World } from '../../contract/world.ts';

let world: World;
let robot: NewRobot;
let commits: number;

beforeEach(async () => {
  commits = 0;
  const onCommit = () => {
    commits += 1;
  };
  world = await World.open((clock, limits) => openTemporarySqlite(clock, { ...limits, onCommit }));
  await world.lease();
  robot = await world.robot(await world.account(1_000));
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  return world.close();
});

async function deleteRobot(): Promise<void> {
  commits = 0;
  await world.store.deleteRobot(robot.id, robot.wallet, world.now);
}

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
