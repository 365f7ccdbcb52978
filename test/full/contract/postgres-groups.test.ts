import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NewRobot } from '../../../src/server/ports/robots.ts';
import type { TaskRecord } from '../../../src/server/ports/tasks.ts';
import type { World } from '../../contract/world.ts';
import { aggregate, type Instances, openInstances } from './instances.ts';

let instances: Instances;
let world: World;
let robots: NewRobot[];
let commits: number;

beforeEach(async () => {
  instances = await openInstances(2, { onCommit: () => (commits += 1) });
  world = instances.world;
  await world.lease();
  robots = await Promise.all(Array.from({ length: 8 }, () => world.robot()));
  commits = 0;
});
afterEach(async () => {
  const violated = await world.store.checkInvariants();
  await instances.close();
  expect(violated).toEqual([]);
});

const robotOf = (i: number) => robots[i % robots.length] as NewRobot;

/** Runs the calls while another transaction has locked the row of the first robot. */
async function whileLocked<T>(calls: () => { locked: Promise<T>; others: Promise<T>[] }) {
  const { session } = instances;
  await session.query('BEGIN');
  await session.query(`SELECT FROM robots WHERE id = '${robotOf(0).id}' FOR UPDATE`);
  const { locked, others } = calls();
  const answers = await Promise.all(others);
  await instances.blocked(1);
  await session.query('COMMIT');
  return [await locked, ...answers];
}

describe('claims at the same time', () => {
  it('share commits, also those of one robot', async () => {
    const tasks = Array.from({ length: 64 }, (_, i) => world.newTask(robotOf(i).id));

    const claimed = await Promise.all(tasks.map((task) => world.store.createTask(task)));

    expect(aggregate(claimed)).toEqual({ created: 64 });
    expect(commits).toBeLessThanOrEqual(2);
    const stored = await Promise.all(
      tasks.map(({ id, robotId }) => world.store.getTask(id, { robotId })),
    );
    expect(stored.map((task) => task?.id)).toEqual(tasks.map(({ id }) => id));
  });

  it('are each answered for themselves', async () => {
    const [known, other] = [robotOf(0), robotOf(1)];
    const task = world.newTask(known.id, { idGiven: true });
    await world.store.createTask(task);
    const claims = [
      task,
      { ...task, title: 'Pick order 18' },
      world.newTask(other.id, { id: task.id, idGiven: true }),
      world.newTask(other.id, { keyHash: 'a'.repeat(64) }),
      world.newTask(other.id),
      world.newTask(known.id),
    ];

    const claimed = await Promise.all(claims.map((claim) => world.store.createTask(claim)));

    expect(claimed.map(({ outcome }) => outcome)).toEqual([
      'repeated',
      'id_conflict',
      'id_conflict',
      'key_revoked',
      'created',
      'created',
    ]);
  });

  it('do not wait for the locked robot of another', async () => {
    const claim = (i: number) => world.store.createTask(world.newTask(robotOf(i).id));

    const claimed = await whileLocked(() => ({
      locked: claim(0),
      others: [1, 2, 3, 4, 5].map(claim),
    }));

    expect(aggregate(claimed)).toEqual({ created: 6 });
  });
});

describe('completions at the same time', () => {
  const complete = (task: TaskRecord) => world.store.queueCompletion(world.completion(task));

  it('share commits, and take the credits of each account in order', async () => {
    const wallet = await world.account(5);
    robots = [robotOf(0), ...(await Promise.all([world.robot(wallet), world.robot(wallet)]))];
    const tasks = await Promise.all(
      Array.from({ length: 24 }, (_, i) => world.task(robotOf(i).id)),
    );
    commits = 0;

    const queued = await Promise.all(tasks.map(complete));

    expect(aggregate(queued)).toEqual({ queued: 13, no_anchor_quota: 11 });
    expect((await world.store.getBalance(wallet))?.anchorQuota).toBe(0);
    const { rows } =
      await instances.session.query(`SELECT array_agg(round ORDER BY reserve_seq) AS rounds
      FROM completions c JOIN tasks t ON t.id = c.task_id GROUP BY wallet ORDER BY count(*)`);
    const upTo = (count: number) => Array.from({ length: count }, (_, i) => String(i));
    expect(rows.map(({ rounds }) => rounds)).toEqual([upTo(5), upTo(8)]);
  });

  it('do not wait for the locked robot of another', async () => {
    const tasks = await Promise.all(robots.map(({ id }) => world.task(id)));
    const [first, ...rest] = tasks.map((task) => () => complete(task));

    const queued = await whileLocked(() => ({
      locked: (first as (typeof rest)[number])(),
      others: rest.map((call) => call()),
    }));

    expect(aggregate(queued)).toEqual({ queued: 8 });
  });

  it('are queued alone if their group gives up the lock of an account', async () => {
    const tasks = await Promise.all(robots.map(({ id }) => world.task(id)));
    const { session } = instances;
    await session.query('BEGIN');
    await session.query(
      `SELECT FROM accounts WHERE wallet = '${robotOf(0).wallet}' FOR NO KEY UPDATE`,
    );
    const [locked, ...others] = tasks.map(complete);

    const queued = await Promise.all(others);
    await session.query('COMMIT');

    expect(aggregate([...queued, (await locked) ?? 'none'])).toEqual({ queued: 8 });
  });

  it('of two instances for the same accounts each succeed once', async () => {
    const tasks = await Promise.all(
      Array.from({ length: 40 }, (_, i) => world.task(robotOf(i).id)),
    );
    const calls = [...tasks, ...[...tasks].reverse()];

    const queued = await Promise.all(
      calls.map((task, i) =>
        instances.stores[i < tasks.length ? 0 : 1].queueCompletion(world.completion(task)),
      ),
    );

    expect(aggregate(queued)).toEqual({ queued: 40, completion_in_progress: 40 });
  });
});
