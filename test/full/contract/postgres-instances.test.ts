import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { NewRobot } from '../../../src/server/ports/robots.ts';
import type { Store } from '../../../src/server/ports/store.ts';
import { newWallet, type World } from '../../contract/world.ts';
import { waitFor } from '../../support/wait-for.ts';
import { aggregate, type Instances, openInstances, spread } from './instances.ts';

let instances: Instances;
let world: World;
let robot: NewRobot;
let here: Store;
let there: Store;

async function begin(options: Parameters<typeof openInstances>[1] = {}) {
  instances = await openInstances(2, options);
  world = instances.world;
  [here, there] = instances.stores;
  await world.lease();
  robot = await world.robot();
}
async function end() {
  const violated = await world.store.checkInvariants();
  await instances.close();
  expect(violated).toEqual([]);
}

describe('a change on one instance applies on the other', () => {
  beforeEach(() => begin());
  afterEach(end);

  it('for a replaced key', async () => {
    await there.authenticateRobot(robot.keyHash);

    await here.replaceKey(robot.id, robot.wallet, 'b'.repeat(64), world.now);

    expect(await there.authenticateRobot(robot.keyHash)).toBeNull();
    expect((await there.authenticateRobot('b'.repeat(64)))?.robot.id).toBe(robot.id);
    expect(await there.createTask(world.newTask(robot.id))).toEqual({ outcome: 'key_revoked' });
  });

  it('for a challenge, which is spent once', async () => {
    const challenge = await world.savedChallenge(newWallet());

    const signedIn = await spread(instances, 10, (store) => store.signIn(world.signIn(challenge)));

    expect(aggregate(signedIn)).toEqual({ signed_in: 1, challenge_spent: 9 });
  });

  it('for an ended session', async () => {
    const challenge = await world.savedChallenge(newWallet());
    const session = world.session();
    const { tokenHash } = session;
    await here.signIn(world.signIn(challenge, { session }));
    expect(await there.authenticateSession(tokenHash, false, world.now)).not.toBeNull();

    await here.revokeSession(tokenHash);

    expect(await there.authenticateSession(tokenHash, false, world.now)).toBeNull();
  });

  it('for a code, which is redeemed once', async () => {
    const challenge = await world.savedChallenge(newWallet());
    const { wallet } = challenge;
    const session = world.session();
    await here.signIn(world.signIn(challenge, { session }));
    const { deviceHash, userHash } = await world.savedCliCode();
    const decision = { userHash, decision: 'allow', sessionId: session.id } as const;
    await there.decideCliCode({ ...decision, now: world.now });

    const redeemed = await spread(instances, 10, (store) =>
      store.redeemCliCode({ deviceHash, session: world.session(), now: world.now }),
    );

    expect(redeemed.filter((found) => found !== 'unknown')).toEqual([{ wallet }]);
  });
});

describe('two instances at once', () => {
  beforeEach(() => begin());
  afterEach(end);

  it('claim an id once, and return the task to the other callers', async () => {
    for (let round = 0; round < 10; round += 1) {
      const claim = world.newTask(robot.id, { idGiven: true });

      const claims = await spread(instances, 6, (store) => store.createTask(claim));

      expect(aggregate(claims)).toEqual({ created: 1, repeated: 5 });
    }
  });

  it('claim an id for the first content', async () => {
    const claim = world.newTask(robot.id, { idGiven: true });

    const claims = await spread(instances, 6, (store, i) =>
      store.createTask({ ...claim, title: `Pick order ${i}` }),
    );

    expect(aggregate(claims)).toEqual({ created: 1, id_conflict: 5 });
  });

  it('accept one completion of a task', async () => {
    for (let round = 0; round < 10; round += 1) {
      const task = await world.task(robot.id);

      const queued = await spread(instances, 6, (store, i) =>
        store.queueCompletion(world.completion(task, { try: i })),
      );

      expect(aggregate(queued)).toEqual({ queued: 1, completion_in_progress: 5 });
    }
  });

  it('retry a failed completion once', async () => {
    const lease = await world.lease();
    const [task] = await world.queued(robot.id, 1);
    if (task === undefined) throw new Error('One task was queued');
    await here.failQueuedProofs(lease, [task.id], 'no funds', world.now);

    const queued = await spread(instances, 6, (store, i) =>
      store.queueCompletion(world.completion(task, { try: i })),
    );

    expect(aggregate(queued)).toEqual({ queued: 1, completion_in_progress: 5 });
  });

  it('delete a robot once, and accept no claim or completion meanwhile', async () => {
    await world.queued(robot.id, 5);
    const task = await world.task(robot.id);
    const balance = await here.getBalance(robot.wallet);

    await Promise.all([
      here.deleteRobot(robot.id, robot.wallet, world.now),
      there.deleteRobot(robot.id, robot.wallet, world.now),
      there.createTask(world.newTask(robot.id)),
      there.queueCompletion(world.completion(task)),
    ]);

    const { rows } = await instances.session.query(
      'SELECT FROM tasks UNION ALL SELECT FROM robots',
    );
    const { rows: kept } = await instances.session.query(
      'SELECT FROM completions WHERE claim_hash = leaf',
    );
    const after = await here.getBalance(robot.wallet);
    expect(rows).toEqual([]);
    // What was accepted is anchored: of the five, and perhaps of the sixth, the leaf stays.
    const meanwhile = (balance?.anchorQuota ?? 0) - (after?.anchorQuota ?? 0);
    expect([0, 1]).toContain(meanwhile);
    expect(kept).toHaveLength(5 + meanwhile);
  });

  it('leave no robot in a deleted fleet', async () => {
    for (let round = 0; round < 10; round += 1) {
      const fleet = await world.fleet(robot.wallet);

      await Promise.all([
        here.patchRobot(robot.id, robot.wallet, { fleetId: fleet.id }, world.now),
        there.deleteFleet(fleet.id, robot.wallet, world.now),
      ]);

      expect((await here.getRobot(robot.id, robot.wallet))?.fleetId).toBeNull();
    }
  });
});

describe('a call that waits for another transaction sees its result', () => {
  beforeEach(() => begin());
  afterEach(end);

  /** Runs the calls while the statement holds its locks, which end with a commit once all of them wait. */
  async function during<T>(statement: string, calls: (() => Promise<T>)[]): Promise<T[]> {
    await instances.session.query('BEGIN');
    await instances.session.query(statement);
    const answers = Promise.all(calls.map((call) => call()));
    await instances.blocked(calls.length);
    await instances.session.query('COMMIT');
    return answers;
  }

  it('a claim or completion with a key that is being revoked is key_revoked', async () => {
    const task = await world.task(robot.id);

    const answers = await during<{ outcome: string }>(
      `UPDATE robots SET key_hash = NULL, key_hint = NULL WHERE id = '${robot.id}'`,
      [
        () => there.createTask(world.newTask(robot.id)),
        () => here.queueCompletion(world.completion(task)),
      ],
    );

    expect(answers).toEqual([{ outcome: 'key_revoked' }, { outcome: 'key_revoked' }]);
  });

  it('a completion of a task that is being deleted is not_found', async () => {
    const task = await world.task(robot.id);

    const answers = await during(
      `WITH gone AS (DELETE FROM tasks WHERE id = '${task.id}')
       INSERT INTO tombstones VALUES ('${task.id}', 0)`,
      [() => here.queueCompletion(world.completion(task))],
    );

    expect(answers).toEqual([{ outcome: 'not_found' }]);
  });

  it('a claim of the id of a task that is being deleted is id_conflict', async () => {
    const task = await world.task(robot.id);
    const claim = world.newTask(robot.id, { id: task.id, idGiven: true });

    const answers = await during(
      `WITH gone AS (DELETE FROM tasks WHERE id = '${task.id}')
       INSERT INTO tombstones VALUES ('${task.id}', 0)`,
      [() => there.createTask(claim)],
    );

    expect(answers).toEqual([{ outcome: 'id_conflict' }]);
  });

  it('a robot is not added to a fleet that is being deleted', async () => {
    const fleet = await world.fleet(robot.wallet);

    const answers = await during<{ outcome: string }>(
      `SELECT FROM accounts WHERE wallet = '${robot.wallet}' FOR NO KEY UPDATE;
       DELETE FROM fleets WHERE id = '${fleet.id}'`,
      [
        () => here.patchRobot(robot.id, robot.wallet, { fleetId: fleet.id }, world.now),
        () => there.assignRobots(robot.wallet, [robot.id], fleet.id, world.now),
      ],
    );

    expect(answers).toEqual([{ outcome: 'fleet_not_found' }, { outcome: 'fleet_not_found' }]);
  });
});

describe.each([
  { way: 'a hint', pooler: false },
  { way: 'looking, behind a pooler', pooler: true },
])('a waiting request on one instance learns by $way', ({ pooler }) => {
  beforeEach(() => begin({ pooler }));
  afterEach(end);

  it('that the other settled its completion', async () => {
    const [task] = await world.queued(robot.id, 1);
    const waiting = there.waitForCompletions([task?.id ?? ''], new AbortController().signal);

    await world.settled(await world.lease());

    await waiting;
    const viewer = { robotId: robot.id };
    expect((await there.getTask(task?.id ?? '', viewer))?.completion?.state).toBe('included');
  });

  it('that the other deleted its robot', async () => {
    const [task] = await world.queued(robot.id, 1);
    const waiting = there.waitForCompletions([task?.id ?? ''], new AbortController().signal);

    await here.deleteRobot(robot.id, robot.wallet, world.now);

    await waiting;
  });
});

describe('a hint that arrives late', () => {
  beforeEach(() => begin());
  afterEach(end);

  it('does not end the wait for a completion that is queued again', async () => {
    const [again, failing] = await world.queued(robot.id, 2);
    const lease = await world.lease();
    const never = new AbortController().signal;
    const ended: string[] = [];
    const waits = [again?.id ?? '', failing?.id ?? ''].map((id) =>
      there.waitForCompletions([id], never).then(() => ended.push(id)),
    );

    // As its first failure was announced. Notifications arrive in the order of their commits.
    await instances.session.query('SELECT pg_notify($1, $2)', [
      'svc_notifications',
      `completion:${again?.id}`,
    ]);
    await here.failQueuedProofs(lease, [failing?.id ?? ''], 'reverted', world.now);
    await waits[1];
    expect(ended).toEqual([failing?.id]);

    await here.failQueuedProofs(lease, [again?.id ?? ''], 'reverted', world.now);
    await Promise.all(waits);
  });
});

describe('many requests that wait', () => {
  beforeEach(() => begin({ pooler: true }));
  afterEach(end);

  it('share their database reads', async () => {
    const tasks = await world.queued(robot.id, 40);
    const lease = await world.lease();
    const queries = vi.spyOn(pg.Client.prototype, 'query');
    onTestFinished(() => queries.mockRestore());
    const asked = () =>
      queries.mock.calls.flatMap(([query]) => {
        const { text, values = [] } = query as unknown as pg.QueryConfig<string[]>;
        return text?.includes('t.id IS NULL OR t.status')
          ? [JSON.parse(`${values[0]}`).length]
          : [];
      });

    const waits = tasks.map(({ id }) =>
      there.waitForCompletions([id], new AbortController().signal),
    );
    await waitFor('two more looks', () => asked().length >= 3);
    expect(asked()).toEqual(asked().map(() => 40));

    await world.settled(lease);
    await Promise.all(waits);
  });
});
