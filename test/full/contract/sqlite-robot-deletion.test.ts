import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { NewRobot } from '../../../src/server/ports/robots.ts';
import { openTemporarySqlite } from '../../contract/temporary-sqlite.ts';
import { World } from '../../contract/world.ts';
import { waitFor } from '../../support/wait-for.ts';

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

it('deletes at most 100 tasks in a commit, however many wait to be signed', async () => {
  const other = await world.robot(robot.wallet);
  await world.queued(robot.id, 250);
  const [kept] = await world.queued(other.id, 1);

  await deleteRobot();

  expect(commits).toBeGreaterThanOrEqual(3);
  expect(await world.store.getTask(kept?.id ?? '', { robotId: other.id })).not.toBeNull();
});

it('deletes fewer tasks in a commit if their evidence is large', async () => {
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

describe('many deletions at once', () => {
  /** Robots of one account with a history each. */
  async function withHistory(count: number): Promise<NewRobot[]> {
    const wallet = await world.account();
    const robots = await Promise.all(Array.from({ length: count }, () => world.robot(wallet)));
    const tasks = robots.flatMap(({ id }) => Array.from({ length: 100 }, () => world.newTask(id)));
    await Promise.all(tasks.map((task) => world.store.createTask(task)));
    return robots;
  }
  const remove = ({ id, wallet }: NewRobot) => world.store.deleteRobot(id, wallet, world.now);
  const isThere = async ({ id, wallet }: NewRobot) =>
    (await world.store.getRobot(id, wallet)) !== null;

  it('do not starve other writes', async () => {
    const deletions = (await withHistory(25)).map(remove);
    await world.store.probe();

    const before = commits;
    await world.store.probe();

    expect(commits - before).toBeLessThanOrEqual(2);
    expect(await Promise.all(deletions)).toEqual(Array(25).fill(true));
  });

  it('revoke every key immediately', async () => {
    const robots = await withHistory(20);
    const deletions = robots.map(remove);
    await world.store.probe();

    const last = robots.at(-1) ?? robot;
    expect(await isThere(last)).toBe(true);
    expect(await world.store.authenticateRobot(last.keyHash)).toBeNull();
    await Promise.all(deletions);
  });

  it('share the wait for the emptied log', async () => {
    const robots = await withHistory(5);
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const deletions = robots.map(remove);

    await waitFor('the end of all robots', async () => {
      const left = await Promise.all(robots.map(isThere));
      return !left.includes(true);
    });

    vi.runAllTimers();
    vi.useRealTimers();
    expect(await Promise.all(deletions)).toEqual(Array(5).fill(true));
  });

  it('do not starve other accounts', async () => {
    const robots = await withHistory(20);
    const [other = robot] = await withHistory(1);
    // On a slow machine too a commit ends by what it forgets, not by its time.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    const deletions = [...robots, other].map(remove);

    while (await isThere(other)) await nextTurn();

    const left = await Promise.all(robots.map(isThere));
    expect(left.filter(Boolean).length).toBeGreaterThan(10);
    clock.mockRestore();
    expect(await Promise.all(deletions)).toEqual(Array(21).fill(true));
  });
});
