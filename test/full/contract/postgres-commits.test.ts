import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { NewRobot } from '../../../src/server/ports/robots.ts';
import { World } from '../../contract/world.ts';
import { openTemporaryPostgres } from './temporary-postgres.ts';

let commits: { writes: number; seconds: number }[];
let world: World;
let robot: NewRobot;
beforeEach(async () => {
  const onCommit = (commit: { writes: number; seconds: number }) => commits.push(commit);
  commits = [];
  world = await World.open((clock) => openTemporaryPostgres(clock, { onCommit }));
  robot = await world.robot();
  commits = [];
});
afterEach(() => world.close());

it('reports each commit, of one statement or several', async () => {
  await world.task(robot.id);
  expect(commits).toEqual([{ writes: 1, seconds: expect.any(Number) }]);

  await world.grant(robot.wallet, 1, 1n);
  expect(commits).toHaveLength(2);

  await world.store.patchRobot(robot.id, robot.wallet, { name: 'Picker 8' }, world.now);
  expect(commits).toHaveLength(3);
});

it('reports no read-only transaction', async () => {
  await world.store.getRobot(robot.id, robot.wallet);
  await world.store.listRobots(robot.wallet, 10, null);
  await world.store.getBalance(robot.wallet);

  expect(commits).toEqual([]);
});

it('reports no rolled back transaction', async () => {
  const grant = { id: uuid(), wallet: robot.wallet, anchors: -1_000, gasWei: 0n, note: '' };

  await expect(world.store.grantCredits({ ...grant, now: world.now })).rejects.toThrow();

  expect(commits).toEqual([]);
});
