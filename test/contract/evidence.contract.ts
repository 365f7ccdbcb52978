import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import type { TaskRecord, TimePlace } from '../../src/server/ports/tasks.ts';
import { chainId, newWallet, type OpenStore, World } from './world.ts';

const UNKNOWN = '0190a5c0-0000-7000-8000-000000000000';

export function evidenceContract(open: OpenStore): void {
  let world: World;
  let robot: NewRobot;
  beforeEach(async () => {
    world = await World.open(open);
    robot = await world.robot();
  });
  afterEach(() => world.close());

  async function completed(evidence = { boxes: 2 }): Promise<TaskRecord> {
    const task = await world.task(robot.id);
    await world.store.queueCompletion(world.completion(task, evidence));
    return task;
  }

  describe('listing tasks', () => {
    const all = () => ({ wallet: robot.wallet, status: null, robotId: null });
    const idsOf = (tasks: readonly { id: string }[] | null) => tasks?.map(({ id }) => id);

    it('returns the progress of each task, newest first', async () => {
      const lease = await world.lease();
      const [verified] = await world.queued(robot.id, 1);
      const attempt = await world.settled(lease);
      world.clock.advance(1);
      const [queued] = await world.queued(robot.id, 1);
      world.clock.advance(1);
      const claimed = await world.task(robot.id);

      const tasks = await world.store.listTasks(all(), 10, null);

      expect(idsOf(tasks)).toEqual([claimed.id, queued?.id, verified?.id]);
      expect(tasks?.map(({ progress }) => progress?.state)).toEqual([
        undefined,
        'queued',
        'included',
      ]);
      const { status: _, completion: __, ...claim } = verified ?? claimed;
      const { wallet: ___, expectedResult: ____, ...listed } = claim;
      expect(tasks?.[2]).toEqual({
        ...listed,
        status: 'verified',
        progress: {
          state: 'included',
          proofHash: world.completion(verified ?? claimed).proofHash,
          outcome: null,
          attempts: 1,
          txHash: attempt.variant.txHash,
          queuedAt: expect.any(Number),
          updatedAt: expect.any(Number),
          chainId,
        },
      });
    });

    it('pages through all tasks once, even if they share a time', async () => {
      const lease = await world.lease();
      for (let i = 0; i < 4; i += 1) {
        await world.queued(robot.id, 2);
        if (i % 2 === 0) await world.settled(lease);
        await world.task(robot.id);
        if (i === 1) world.clock.advance(1);
      }
      const whole = await world.store.listTasks(all(), 100, null);

      const seen: string[] = [];
      let after: TimePlace | null = null;
      for (;;) {
        const page = await world.store.listTasks(all(), 5, after);
        const last = page?.at(-1);
        if (last === undefined) break;
        seen.push(...(idsOf(page) ?? []));
        after = { at: last.createdAt, id: last.id };
      }

      expect(seen).toHaveLength(12);
      expect(seen).toEqual(idsOf(whole));
      expect(new Set(seen).size).toBe(12);
    });

    it('filters by status and robot', async () => {
      const other = await world.robot(robot.wallet);
      const lease = await world.lease();
      const [mine] = await world.queued(robot.id, 1);
      const [theirs] = await world.queued(other.id, 1);
      await world.settled(lease);
      const claimed = await world.task(robot.id);
      const list = async (filter: object) =>
        idsOf(await world.store.listTasks({ ...all(), ...filter }, 10, null));

      expect(await list({ status: 'claimed' })).toEqual([claimed.id]);
      expect((await list({ status: 'verified' }))?.sort()).toEqual([mine?.id, theirs?.id].sort());
      expect(await list({ robotId: other.id })).toEqual([theirs?.id]);
      expect(await list({ robotId: robot.id, status: 'verified' })).toEqual([mine?.id]);
    });

    it('shows nothing of another account, and finds no robot of another account', async () => {
      await world.task(robot.id);
      const stranger = await world.robot();
      const theirs = { wallet: stranger.wallet, status: null };

      expect(await world.store.listTasks({ ...theirs, robotId: null }, 10, null)).toEqual([]);
      expect(await world.store.listTasks({ ...theirs, robotId: robot.id }, 10, null)).toBeNull();
      expect(await world.store.listTasks({ ...all(), robotId: UNKNOWN }, 10, null)).toBeNull();
    });
  });

  describe('reading evidence', () => {
    it('returns the submitted evidence to its robot and its account only', async () => {
      await world.lease();
      const { id } = await completed();
      const sibling = await world.robot(robot.wallet);
      const proofFor = async (viewer: { robotId: string } | { wallet: string }) =>
        (await world.store.getEvidence(id, viewer))?.proof;

      expect(await proofFor({ robotId: robot.id })).toBe('{"boxes":2}');
      expect(await proofFor({ wallet: robot.wallet })).toBe('{"boxes":2}');
      expect(await proofFor({ robotId: sibling.id })).toBeUndefined();
      expect(await proofFor({ wallet: newWallet() })).toBeUndefined();
      expect(await world.store.getEvidence(UNKNOWN, { robotId: robot.id })).toBeNull();
    });

    it('returns null for a task without evidence', async () => {
      const { id } = await world.task(robot.id);

      const found = await world.store.getEvidence(id, { robotId: robot.id });

      expect(found).toMatchObject({ task: { id, completion: null }, proof: null });
    });
  });

  describe('reading a bundle', () => {
    it('returns the receipt with block, place and signed bytes', async () => {
      const lease = await world.lease();
      const { id } = await completed();
      const attempt = await world.committed(lease);
      const mined = world.mined(attempt);
      await world.store.recordInclusion(lease, attempt.id, mined, world.now);
      await world.store.settleLeaves(lease, attempt.id, 1, world.now);

      const found = await world.store.getBundle(id, { wallet: robot.wallet });

      expect(found).toMatchObject({
        robotName: 'Picker 7',
        proof: '{"boxes":2}',
        task: { id, completion: { receipt: { txHash: mined.txHash } } },
      });
      expect(found?.mined).toEqual({
        blockHash: mined.blockHash,
        txIndex: mined.txIndex,
        chainProof: null,
        rawTx: attempt.variant.rawTx,
      });
    });

    it('has no place before the receipt exists', async () => {
      const lease = await world.lease();
      const { id } = await completed();
      await world.included(lease);

      const found = await world.store.getBundle(id, { robotId: robot.id });

      expect(found?.mined).toBeNull();
      expect(found?.task.completion?.receipt).toBeNull();
    });

    it('is visible to its robot and its account only', async () => {
      const { id } = await world.task(robot.id);

      expect(await world.store.getBundle(id, { wallet: newWallet() })).toBeNull();
      expect(await world.store.getBundle(UNKNOWN, { wallet: robot.wallet })).toBeNull();
    });
  });

  describe('erasing evidence', () => {
    it('keeps hash and receipt, and may be repeated', async () => {
      const lease = await world.lease();
      const { id } = await completed();
      await world.settled(lease);
      const before = await world.store.getTask(id, { robotId: robot.id });

      expect(await world.store.eraseProof(id, robot.wallet)).toBe('erased');
      expect(await world.store.eraseProof(id, robot.wallet)).toBe('erased');

      const found = await world.store.getEvidence(id, { robotId: robot.id });
      expect(found).toEqual({ task: before, proof: null });
      expect(await world.store.checkInvariants()).toEqual([]);
    });

    it('does not stop an anchor in progress', async () => {
      const lease = await world.lease();
      const { id } = await completed();

      await world.store.eraseProof(id, robot.wallet);
      await world.settled(lease);

      const task = await world.store.getTask(id, { robotId: robot.id });
      expect(task?.status).toBe('verified');
      expect(await world.store.checkInvariants()).toEqual([]);
    });

    it('answers nothing_stored before a completion, not_found for others', async () => {
      await world.lease();
      const claimed = await world.task(robot.id);
      const { id } = await completed();

      expect(await world.store.eraseProof(claimed.id, robot.wallet)).toBe('nothing_stored');
      expect(await world.store.eraseProof(id, newWallet())).toBe('not_found');
      expect(await world.store.eraseProof(UNKNOWN, robot.wallet)).toBe('not_found');
      const kept = await world.store.getEvidence(id, { robotId: robot.id });
      expect(kept?.proof).toBe('{"boxes":2}');
    });

    it('stores new evidence if a refused completion is retried', async () => {
      const lease = await world.lease();
      const task = await completed();
      await world.store.failQueuedProofs(lease, [task.id], 'no funds', world.now);
      await world.store.eraseProof(task.id, robot.wallet);

      await world.store.queueCompletion(world.completion(task, { boxes: 3 }));

      const found = await world.store.getEvidence(task.id, { robotId: robot.id });
      expect(found?.proof).toBe('{"boxes":3}');
    });

    it('erases by age in steps, oldest first', async () => {
      await world.lease();
      const tasks: TaskRecord[] = [];
      for (let i = 0; i < 5; i += 1) {
        tasks.push(await completed());
        world.clock.advance(1000);
      }
      const before = world.now - 1000;

      let steps = 1;
      while (await world.store.eraseOldProofs(before, 3)) steps += 1;

      const kept = await Promise.all(
        tasks.map(({ id }) => world.store.getEvidence(id, { robotId: robot.id })),
      );
      expect(steps).toBeGreaterThanOrEqual(2);
      expect(kept.map((found) => found?.proof)).toEqual([null, null, null, null, '{"boxes":2}']);
    });

    it('counts the age from the newest evidence of a task', async () => {
      const lease = await world.lease();
      const task = await completed();
      await world.store.failQueuedProofs(lease, [task.id], 'no funds', world.now);
      world.clock.advance(1000);
      await world.store.queueCompletion(world.completion(task, { boxes: 3 }));

      expect(await world.store.eraseOldProofs(world.now, 10)).toBe(false);
      const found = await world.store.getEvidence(task.id, { robotId: robot.id });
      expect(found?.proof).toBe('{"boxes":3}');
    });
  });
}
