import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lease } from '../../src/server/ports/anchoring.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import { type OpenStore, reservedWei, World } from './world.ts';

export function completionContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  describe('queueing', () => {
    it('reserves one anchor and the gas of a single', async () => {
      await world.lease();
      const robot = await world.robot(await world.account(5, 1_000_000n));
      const completion = world.completion(await world.task(robot.id));

      expect(await world.store.queueCompletion(completion)).toEqual({ outcome: 'queued' });

      expect(await world.store.getBalance(robot.wallet)).toMatchObject({
        anchorQuota: 4,
        gasCreditWei: 1_000_000n - reservedWei,
      });
      expect(await world.store.checkInvariants()).toEqual([]);
    });

    it('is visible in the task, which stays claimed', async () => {
      await world.lease();
      const robot = await world.robot();
      const completion = world.completion(await world.task(robot.id));
      await world.store.queueCompletion(completion);

      const task = await world.store.getTask(completion.taskId, { robotId: robot.id });

      const { proofHash, claimHash, leaf, now } = completion;
      expect(task?.status).toBe('claimed');
      expect(task?.completion).toEqual({
        state: 'queued',
        proofHash,
        claimHash,
        leaf,
        statementHash: null,
        outcome: null,
        attempts: 0,
        txHash: null,
        queuedAt: now,
        updatedAt: now,
        receipt: null,
      });
    });

    it('accepts one of 50 concurrent completions of a task', async () => {
      await world.lease();
      const robot = await world.robot();
      const task = await world.task(robot.id);
      const balance = await world.store.getBalance(robot.wallet);

      const results = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          world.store.queueCompletion(world.completion(task, { try: i })),
        ),
      );

      const outcomes = results.map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome === 'queued')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'completion_in_progress')).toHaveLength(49);
      expect((await world.store.getBalance(robot.wallet))?.anchorQuota).toBe(
        (balance?.anchorQuota ?? 0) - 1,
      );
      expect(await world.store.checkInvariants()).toEqual([]);
    });

    it('reports a completion in progress with the accepted proof', async () => {
      await world.lease();
      const robot = await world.robot();
      const task = await world.task(robot.id);
      const first = world.completion(task, { first: true });
      await world.store.queueCompletion(first);

      const result = await world.store.queueCompletion(world.completion(task, { first: false }));

      expect(result).toMatchObject({
        outcome: 'completion_in_progress',
        task: { completion: { state: 'queued', proofHash: first.proofHash } },
      });
    });

    it('reports a completed task with its receipt', async () => {
      const lease = await world.lease();
      const robot = await world.robot();
      const [task] = await world.queued(robot.id, 1);
      if (task === undefined) throw new Error('One task was queued');
      const attempt = await world.settled(lease);

      const result = await world.store.queueCompletion(world.completion(task));

      expect(result).toMatchObject({
        outcome: 'already_completed',
        task: { completion: { receipt: { txHash: attempt.variant.txHash } } },
      });
    });

    it('is not_found for an unknown task and for one of another robot', async () => {
      await world.lease();
      const robot = await world.robot();
      const other = await world.robot(robot.wallet);
      const task = await world.task(robot.id);

      const foreign = {
        ...world.completion(task),
        robotId: other.id,
        keyHash: other.keyHash,
      };
      const unknown = world.completion(world.newTask(robot.id));

      expect(await world.store.queueCompletion(foreign)).toEqual({ outcome: 'not_found' });
      expect(await world.store.queueCompletion(unknown)).toEqual({ outcome: 'not_found' });
    });

    it("is key_revoked for a key that is not the robot's, and queues nothing", async () => {
      const lease = await world.lease();
      const robot = await world.robot();
      const other = await world.robot(robot.wallet);
      const completion = world.completion(await world.task(robot.id));

      const queued = await world.store.queueCompletion({ ...completion, keyHash: other.keyHash });

      expect(queued).toEqual({ outcome: 'key_revoked' });
      expect(await world.store.listQueuedProofs(lease, 1)).toEqual([]);
    });

    it('is key_revoked for an unknown robot', async () => {
      const robot = await world.robot();
      const task = await world.task(robot.id);
      const gone = { ...world.completion(task), robotId: '0190a5c0-0000-7000-8000-000000000000' };

      expect(await world.store.queueCompletion(gone)).toEqual({ outcome: 'key_revoked' });
    });
  });

  describe('credits', () => {
    async function queueWith(anchors: number, gasWei: bigint) {
      const robot = await world.robot(await world.account(anchors, gasWei));
      const task = await world.task(robot.id);
      return { robot, result: await world.store.queueCompletion(world.completion(task)) };
    }

    it('refuse a completion without an anchor before they check gas', async () => {
      await world.lease();
      const { robot, result } = await queueWith(0, 0n);

      expect(result).toEqual({ outcome: 'no_anchor_quota' });
      const [task] = [await world.task(robot.id)];
      expect(task.completion).toBeNull();
    });

    it('refuse a completion above the gas credit, and accept one that it just covers', async () => {
      await world.lease();

      expect((await queueWith(1, reservedWei - 1n)).result).toEqual({ outcome: 'no_gas_credit' });
      expect((await queueWith(1, reservedWei)).result).toEqual({ outcome: 'queued' });
    });

    it('cannot be reserved until the chain was reached', async () => {
      expect((await queueWith(1, reservedWei)).result).toEqual({ outcome: 'no_fee_quote' });
      expect((await queueWith(0, 0n)).result).toEqual({ outcome: 'no_anchor_quota' });
    });

    it('allow the completion after a top-up', async () => {
      await world.lease();
      const robot = await world.robot(await world.account(0, 0n));
      const completion = world.completion(await world.task(robot.id));
      await world.store.queueCompletion(completion);
      await world.grant(robot.wallet, 1, reservedWei);

      expect(await world.store.queueCompletion(completion)).toEqual({ outcome: 'queued' });
    });

    it('are never overspent by concurrent completions', async () => {
      await world.lease();
      const robot = await world.robot(await world.account(3, 2n * reservedWei));
      const tasks = [];
      for (let i = 0; i < 5; i += 1) tasks.push(await world.task(robot.id));

      const results = await Promise.all(
        tasks.map((task) => world.store.queueCompletion(world.completion(task))),
      );

      expect(results.map(({ outcome }) => outcome).sort()).toEqual([
        'no_gas_credit',
        'no_gas_credit',
        'no_gas_credit',
        'queued',
        'queued',
      ]);
      expect(await world.store.checkInvariants()).toEqual([]);
    });
  });

  describe('waiting', () => {
    let lease: Lease;
    let robot: NewRobot;
    beforeEach(async () => {
      lease = await world.lease();
      robot = await world.robot();
    });

    async function queuedTask() {
      const [task] = await world.queued(robot.id, 1);
      if (task === undefined) throw new Error('One task was queued');
      return task.id;
    }

    /** Whether the wait ended, told without waiting for it. */
    function watched(wait: Promise<void>) {
      const state = { ended: false };
      const done = wait.then(() => {
        state.ended = true;
      });
      return { state, done };
    }

    it('ends when the completion is settled, not when it is signed or mined', async () => {
      const id = await queuedTask();
      const { state, done } = watched(
        world.store.waitForCompletions([id], AbortSignal.timeout(10_000)),
      );

      const attempt = await world.included(lease);
      await world.store.probe();
      expect(state.ended).toBe(false);
      await world.store.settleLeaves(lease, attempt.id, 128, world.now);
      await done;

      const task = await world.store.getTask(id, { robotId: robot.id });
      expect(task?.completion?.state).toBe('included');
    });

    it('ends when the completion fails', async () => {
      const id = await queuedTask();
      const { done } = watched(world.store.waitForCompletions([id], new AbortController().signal));

      await world.store.failQueuedProofs(lease, [id], 'no funds', world.now);

      await done;
    });

    it('ends for every waiting caller', async () => {
      const id = await queuedTask();
      const waits = Array.from({ length: 20 }, () =>
        world.store.waitForCompletions([id], new AbortController().signal),
      );

      await world.settled(lease);

      await Promise.all(waits);
    });

    it('ends when the signal aborts, even before the call', async () => {
      const id = await queuedTask();
      const controller = new AbortController();
      const wait = world.store.waitForCompletions([id], controller.signal);

      controller.abort();

      await wait;
      await world.store.waitForCompletions([id], controller.signal);
    });

    it('ends immediately if the completion is settled or the task does not exist', async () => {
      const id = await queuedTask();
      await world.settled(lease);
      const never = new AbortController().signal;

      await world.store.waitForCompletions([id], never);
      await world.store.waitForCompletions(['0190a5c0-0000-7000-8000-000000000000'], never);
    });

    it('for the queue ends when a proof is queued', async () => {
      const wait = world.store.waitForQueuedProof(new AbortController().signal);

      await queuedTask();

      await wait;
    });

    it('for the queue ends immediately while a proof is queued, and when the signal aborts', async () => {
      const controller = new AbortController();
      const wait = world.store.waitForQueuedProof(controller.signal);
      controller.abort();
      await wait;

      await queuedTask();

      await world.store.waitForQueuedProof(new AbortController().signal);
    });
  });
}
