import { v7 as uuid } from 'uuid';
import { afterEach, expect, it } from 'vitest';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import { newWallet, type OpenStore, World } from './world.ts';

const DAY = 24 * 60 * 60_000;
const nothing = { accounts: 0, bytes: 0 };

/** An eighth of the pool is 10 000 bytes. */
const storage = { poolBytes: 80_000, accountBytes: 20_000 };

export function storageContract(open: OpenStore): void {
  let world: World;
  afterEach(() => world.close());

  const opened = async (limits = {}) => {
    world = await World.open(open, limits);
    return world.store;
  };
  const samples = (robot: NewRobot, ages: readonly number[], metrics = '{"wörter":1}') =>
    world.store.recordSamples({
      robotId: robot.id,
      keyHash: robot.keyHash,
      samples: ages.map((age) => ({
        id: uuid(),
        recordedAt: world.now - age,
        batteryPct: null,
        state: null,
        metrics,
      })),
      now: world.now,
    });
  const event = (robot: NewRobot, id = uuid()) =>
    world.store.createEvent({
      id,
      robotId: robot.id,
      keyHash: robot.keyHash,
      eventType: 'info',
      severity: 'info',
      message: 'Ünten',
      payload: '{"a":1}',
      occurredAt: null,
      createdAt: world.now,
    });
  const take = (wallet: string, bytes: number) => world.store.takeStorage(wallet, bytes, world.now);
  /** A robot whose account has no grant. */
  const freeRobot = async () => {
    const challenge = await world.savedChallenge(newWallet());
    await world.store.signIn(world.signIn(challenge));
    return world.robot(challenge.wallet);
  };
  /** Compares the counts with the rows, after they were saved. */
  const errors = async () => {
    await world.reopen();
    return world.store.recountStorage();
  };

  it('counts each row once, also after repeats and refusals', async () => {
    await opened();
    const robot = await world.robot();
    const [task] = await world.queued(robot.id, 3);
    const claim = world.newTask(robot.id, { description: 'Größe', expectedResult: '{"x":"ß"}' });
    const id = uuid();
    for (let i = 0; i < 2; i += 1) {
      await world.store.createTask({ ...claim, idGiven: true });
      await event(robot, id);
    }
    await samples(robot, [1, 2, 3]);
    const sample = { id, recordedAt: world.now, batteryPct: null, state: null };
    for (const metrics of ['{}', '{}', '{"other":1}']) {
      const { id: robotId, keyHash } = robot;
      const other = { ...sample, id: uuid(), metrics: '{"long":"content"}' };
      const sent = metrics === '{}' ? [{ ...sample, metrics }] : [other, { ...sample, metrics }];
      await world.store.recordSamples({ robotId, keyHash, samples: sent, now: world.now });
    }
    if (task !== undefined) await world.store.queueCompletion(world.completion(task));

    expect(await errors()).toEqual(nothing);
    expect(await world.store.takeStorage(robot.wallet, 1, world.now)).toMatchObject({
      outcome: 'taken',
    });
  });

  it('subtracts erased evidence, expired rows and the remains of a deleted robot', async () => {
    await opened();
    const robot = await world.robot();
    const gone = [await world.robot(robot.wallet), await world.robot()];
    for (const one of [robot, ...gone]) {
      const [task] = await world.queued(one.id, 2);
      await samples(one, [0, 9 * DAY, 30 * DAY, 60 * DAY]);
      await event(one);
      await world.store.eraseProof(task?.id ?? '', one.wallet);
    }
    await world.store.eraseOldProofs(world.now + 1, 1);
    let cursor: string | null = null;
    do cursor = await world.store.deleteSamples(world.now - 1, 2, cursor);
    while (cursor !== null);
    await world.store.deleteEvents(world.now + 1, 1);
    for (const { id, wallet } of gone) await world.store.deleteRobot(id, wallet, world.now);

    expect(await errors()).toEqual(nothing);

    for (const { wallet } of gone) while (await world.store.deleteTraces(wallet, 1));
    expect(await errors()).toEqual(nothing);
  });

  it('gives an account of the pool an eighth of the space that the others leave free', async () => {
    await opened({ storage });
    const [a, b] = [await freeRobot(), await freeRobot()];

    const taken = await take(a.wallet, 10_000);
    expect(taken).toMatchObject({ outcome: 'taken' });
    expect(await take(a.wallet, 1)).toEqual({ outcome: 'storage_quota' });
    expect(await take(b.wallet, 8_751)).toEqual({ outcome: 'storage_quota' });
    expect(await take(b.wallet, 8_750)).toMatchObject({ outcome: 'taken' });
    if (taken.outcome === 'taken') taken.release();
    expect(await take(a.wallet, 1_000)).toMatchObject({ outcome: 'taken' });
  });

  it('remembers what was stored when it is opened again', async () => {
    await opened({ storage });
    const robot = await freeRobot();
    await samples(robot, [1], `{"note":"${'x'.repeat(7_000)}"}`);

    expect(await take(robot.wallet, 5_000)).toEqual({ outcome: 'storage_quota' });
    await world.reopen();
    expect(await take(robot.wallet, 5_000)).toEqual({ outcome: 'storage_quota' });
    expect(await take(robot.wallet, 2_000)).toMatchObject({ outcome: 'taken' });
  });

  it('excludes an account from the pool for 90 days after a grant by the operator', async () => {
    await opened({ storage });
    const robot = await world.robot(await world.account());

    world.clock.advance(90 * DAY - 1);
    expect(await take(robot.wallet, 20_001)).toEqual({ outcome: 'storage_quota' });
    expect(await take(robot.wallet, 20_000)).toMatchObject({ outcome: 'taken' });
    world.clock.advance(1);
    await world.reopen();
    expect(await take(robot.wallet, 10_001)).toEqual({ outcome: 'storage_quota' });
    expect(await take(robot.wallet, 10_000)).toMatchObject({ outcome: 'taken' });
  });

  it('accepts a completion that is paid for, although the quota is used up', async () => {
    await opened({ storage: { poolBytes: 8, accountBytes: 1 } });
    const robot = await world.robot();
    await world.lease();

    expect(await take(robot.wallet, 2)).toEqual({ outcome: 'storage_quota' });
    expect(await world.queued(robot.id, 1)).toHaveLength(1);
  });
}
