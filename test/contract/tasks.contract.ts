import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import { newWallet, type OpenStore, randomHash, World } from './world.ts';

export function taskContract(open: OpenStore): void {
  let world: World;
  let robot: NewRobot;
  beforeEach(async () => {
    world = await World.open(open);
    robot = await world.robot();
  });
  afterEach(() => world.close());

  describe('claiming', () => {
    it('stores the task as claimed', async () => {
      const { idGiven, isSigned, keyHash, ...claim } = world.newTask(robot.id, {
        description: 'two boxes',
        expectedResult: '{"boxes":2}',
        occurredAt: '2026-01-15T10:00:00+02:00',
      });

      const created = await world.store.createTask({ ...claim, idGiven, isSigned, keyHash });

      const unverified = { status: 'claimed', completion: null, creditRefusedAt: null };
      const task = { ...claim, wallet: robot.wallet, ...unverified };
      expect(created).toEqual({ outcome: 'created', task });
      expect(await world.store.getTask(claim.id, { robotId: robot.id })).toEqual(task);
    });

    it('returns the stored task if a given id repeats with the same content', async () => {
      const claim = world.newTask(robot.id, { idGiven: true });
      const first = await world.store.createTask(claim);
      world.clock.advance(1000);

      const again = await world.store.createTask({ ...claim, createdAt: world.now });

      expect(again).toEqual({ ...first, outcome: 'repeated' });
    });

    it.each([
      { title: 'another' },
      { description: 'another' },
      { expectedResult: '{}' },
      { occurredAt: '2026-01-15T10:00:00Z' },
    ])('answers id_conflict if the id repeats with %j', async (change) => {
      const claim = world.newTask(robot.id, { idGiven: true });
      await world.store.createTask(claim);

      const again = await world.store.createTask({ ...claim, ...change });

      expect(again).toEqual({ outcome: 'id_conflict' });
    });

    it('answers id_conflict for the id of another robot', async () => {
      const claim = world.newTask(robot.id, { idGiven: true });
      await world.store.createTask(claim);
      const other = await world.robot(robot.wallet);

      const again = await world.store.createTask({
        ...claim,
        robotId: other.id,
        keyHash: other.keyHash,
      });

      expect(again).toEqual({ outcome: 'id_conflict' });
    });

    it("answers key_revoked for a key that is not the robot's, and claims nothing", async () => {
      const other = await world.robot(robot.wallet);
      const claim = world.newTask(robot.id, { keyHash: other.keyHash });

      expect(await world.store.createTask(claim)).toEqual({ outcome: 'key_revoked' });
      expect(await world.store.getTask(claim.id, { robotId: robot.id })).toBeNull();
    });

    it('answers key_revoked for an unknown robot', async () => {
      const claim = world.newTask('0190a5c0-0000-7000-8000-000000000000');

      expect(await world.store.createTask(claim)).toEqual({ outcome: 'key_revoked' });
    });

    it('creates one of 20 concurrent claims with one id', async () => {
      const claim = world.newTask(robot.id, { idGiven: true });

      const results = await Promise.all(
        Array.from({ length: 20 }, () => world.store.createTask(claim)),
      );

      expect(results.filter(({ outcome }) => outcome === 'created')).toHaveLength(1);
      expect(results.filter(({ outcome }) => outcome === 'repeated')).toHaveLength(19);
    });
  });

  describe('reading', () => {
    it('shows a task only to its robot and its account', async () => {
      const { id } = await world.task(robot.id);
      const other = await world.robot(robot.wallet);

      expect(await world.store.getTask(id, { robotId: robot.id })).not.toBeNull();
      expect(await world.store.getTask(id, { wallet: robot.wallet })).not.toBeNull();
      expect(await world.store.getTask(id, { robotId: other.id })).toBeNull();
      expect(await world.store.getTask(id, { wallet: newWallet() })).toBeNull();
    });

    it('reads several tasks of a robot at once', async () => {
      const other = await world.robot(robot.wallet);
      const [first, second, foreign] = [
        await world.task(robot.id),
        await world.task(robot.id),
        await world.task(other.id),
      ];
      const ids = [first.id, second.id, foreign.id, '0190a5c0-0000-7000-8000-000000000000'];

      const found = await world.store.getTasks(ids, { robotId: robot.id });

      expect(found.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
        [first, second].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      );
    });

    it('finds no task for an unknown id', async () => {
      const id = '0190a5c0-0000-7000-8000-000000000000';

      expect(await world.store.getTask(id, { robotId: robot.id })).toBeNull();
    });
  });

  describe('finding a proof by its hash', () => {
    const evidence = { boxes: 2 };

    /** Tasks that carry the same hash, queued in this order. */
    async function queuedAlike(count: number) {
      const tasks = [];
      for (let i = 0; i < count; i += 1) {
        const task = await world.task(robot.id);
        await world.store.queueCompletion(world.completion(task, evidence));
        tasks.push(task);
      }
      const [first] = tasks;
      if (first === undefined) throw new Error('No task was queued');
      return { tasks, proofHash: world.completion(first, evidence).proofHash };
    }

    it('finds nothing for a hash without a task', async () => {
      expect(await world.store.findPublicAnchor(randomHash(), null)).toBeNull();
    });

    it('returns the first queued task while none is anchored, with the robot and the count', async () => {
      await world.lease();
      const { tasks, proofHash } = await queuedAlike(3);

      const found = await world.store.findPublicAnchor(proofHash, null);

      expect(found?.task.id).toBe(tasks[0]?.id);
      expect(found).toMatchObject({ robotName: 'Picker 7', occurrences: 3 });
    });

    it('finds the transactions that were signed, and no others', async () => {
      const lease = await world.lease();
      await queuedAlike(1);
      const attempt = world.attempt(await world.store.listQueuedProofs(lease, 1));
      await world.store.commitAttempt(lease, attempt);

      const { txHash } = world.mined(attempt);
      expect(await world.store.hasAnchorTransaction(txHash)).toBe(true);
      expect(await world.store.hasAnchorTransaction(randomHash())).toBe(false);
    });

    it('returns the first anchored task', async () => {
      const lease = await world.lease();
      const { tasks, proofHash } = await queuedAlike(3);
      const [first, second, third] = await world.store.listQueuedProofs(lease, 3);
      if (!first || !second || !third) throw new Error('Three proofs wait');
      for (const proof of [third, second, first]) {
        const attempt = world.attempt([proof]);
        await world.store.commitAttempt(lease, attempt);
        await world.store.recordInclusion(lease, attempt.id, world.mined(attempt), world.now);
        await world.store.settleLeaves(lease, attempt.id, 1, world.now);
      }

      const found = await world.store.findPublicAnchor(proofHash, null);

      expect(found?.task.id).toBe(tasks[2]?.id);
    });

    it('returns the named task, if it has the hash', async () => {
      await world.lease();
      const { tasks, proofHash } = await queuedAlike(2);
      const [other] = await world.queued(robot.id, 1);
      const find = (taskId: string | undefined) =>
        world.store.findPublicAnchor(proofHash, taskId ?? null);

      expect((await find(tasks[1]?.id))?.task.id).toBe(tasks[1]?.id);
      expect(await find(other?.id)).toBeNull();
      expect(await find('0190a5c0-0000-7000-8000-000000000000')).toBeNull();
    });

    it('does not count a task under the hash of replaced evidence', async () => {
      const lease = await world.lease();
      const { tasks, proofHash } = await queuedAlike(2);
      const [first] = tasks;
      if (first === undefined) throw new Error('Two tasks were queued');
      await world.store.failQueuedProofs(lease, [first.id], 'no funds', world.now);
      await world.store.queueCompletion(world.completion(first, { boxes: 3 }));

      const found = await world.store.findPublicAnchor(proofHash, null);

      expect(found?.task.id).toBe(tasks[1]?.id);
      expect(found?.occurrences).toBe(1);
    });
  });

  it('counts the proofs of an account that wait for a block, since the first of them', async () => {
    const lease = await world.lease();
    const count = (limit = 10) => world.store.countWaiting(robot.wallet, limit);
    await world.task(robot.id);
    await world.queued((await world.robot()).id, 1);
    expect(await count()).toEqual({ proofs: 0, since: null });

    const since = world.now;
    await world.queued(robot.id, 1);
    world.clock.advance(1000);
    await world.queued(robot.id, 2);
    expect(await count()).toEqual({ proofs: 3, since });
    expect(await count(2)).toEqual({ proofs: 2, since: since + 1000 });

    await world.settled(lease);
    expect(await count()).toEqual({ proofs: 0, since: null });
  });
}
