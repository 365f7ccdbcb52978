import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Lease } from '../../src/server/ports/anchoring.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import type { TaskRecord } from '../../src/server/ports/tasks.ts';
import { failsWith, type OpenStore, World } from './world.ts';

/** What happens to the proofs of an attempt that another transaction took the nonce from. */
export function reanchoringContract(open: OpenStore): void {
  let world: World;
  let lease: Lease;
  let robot: NewRobot;
  beforeEach(async () => {
    world = await World.open(open);
    lease = await world.lease();
    robot = await world.robot();
  });
  afterEach(async () => {
    expect(await world.store.checkInvariants()).toEqual([]);
    await world.close();
  });

  const completion = async (task: TaskRecord | undefined) =>
    (await world.store.getTask(task?.id ?? '', { robotId: robot.id }))?.completion;
  const die = (attempt: { id: string }) =>
    world.store.recordReplacedNonce(lease, attempt.id, world.now);
  const balance = () => world.store.getBalance(robot.wallet);
  const queued = () => world.store.listQueuedProofs(lease, 10);

  it('queues its proofs again, before later ones, with their reservation', async () => {
    const tasks = await world.queued(robot.id, 2);
    const attempt = await world.committed(lease);
    const [later] = await world.queued(robot.id, 1);
    const before = await balance();

    await die(attempt);

    expect(await queued()).toMatchObject([
      { taskId: tasks[0]?.id, generation: 1 },
      { taskId: tasks[1]?.id, generation: 1 },
      { taskId: later?.id, generation: 0 },
    ]);
    expect(await completion(tasks[0])).toMatchObject({ state: 'queued', txHash: null });
    expect(await balance()).toEqual(before);
    expect(await world.store.listOpenAttempts(lease)).toEqual([]);
  });

  it('keeps the round of a proof, so that it comes before proofs of other accounts', async () => {
    const [early] = await world.queued(robot.id, 1);
    const attempt = await world.committed(lease);
    const other = await world.robot();
    // Signing advanced the round: the newcomers begin where the last batch ended, or later.
    const newcomers = await world.queued(other.id, 3);
    await world.committed(lease, 2);

    await die(attempt);

    expect((await queued()).map(({ taskId }) => taskId)).toEqual([early?.id, newcomers[2]?.id]);
  });

  it('wakes the callers that wait for the queue', async () => {
    await world.queued(robot.id, 1);
    const attempt = await world.committed(lease);
    const woken = world.store.waitForQueuedProof(new AbortController().signal);

    await die(attempt);

    await expect(woken).resolves.toBeUndefined();
  });

  it('charges the cost of the attempt that anchored them', async () => {
    const [task] = await world.queued(robot.id, 1);
    await die(await world.committed(lease));
    const before = await balance();

    await world.settled(lease);

    expect(await completion(task)).toMatchObject({ state: 'included', attempts: 2 });
    const after = await balance();
    expect((after?.gasCreditWei ?? 0n) - (before?.gasCreditWei ?? 0n)).toBe(
      525_007n - (22_280n * 11n + 3n),
    );
  });

  it('keeps the receipt of a verified task until the next attempt is settled', async () => {
    const [task] = await world.queued(robot.id, 1);
    const first = await world.settled(lease);
    const charged = await balance();
    await world.reorged(lease, first);
    await die(first);
    const reorged = {
      state: 'reorged',
      receipt: { txHash: first.variant.txHash, finality: 'reorged' },
    };

    expect(await completion(task)).toMatchObject(reorged);
    const second = await world.committed(lease);
    expect(await completion(task)).toMatchObject({ ...reorged, txHash: second.variant.txHash });
    const mined = world.mined(second, { blockNumber: 8n, effectiveGasPrice: 20n });
    await world.store.recordInclusion(lease, second.id, mined, world.now);
    expect(await completion(task)).toMatchObject(reorged);
    await world.store.settleLeaves(lease, second.id, 1, world.now);

    expect(await completion(task)).toMatchObject({
      state: 'included',
      receipt: { txHash: second.variant.txHash, blockNumber: 8n, finality: 'included' },
    });
    expect(await balance()).toEqual(charged);
  });

  it('refuses no proof that was signed before', async () => {
    const [task] = await world.queued(robot.id, 1);
    await die(await world.committed(lease));

    await world.store.failQueuedProofs(lease, [task?.id ?? ''], 'reverted', world.now);

    expect(await completion(task)).toMatchObject({ state: 'queued' });
  });

  it('answers a completion of a verified task with its receipt', async () => {
    const [task] = await world.queued(robot.id, 1);
    const attempt = await world.settled(lease);
    await world.reorged(lease, attempt);
    await die(attempt);
    if (task === undefined) throw new Error('One task was queued');

    expect(await world.store.queueCompletion(world.completion(task))).toMatchObject({
      outcome: 'already_completed',
    });
    await world.store.waitForCompletions([task.id], new AbortController().signal);
  });

  it('anchors the leaf of a deleted task that was verified, without another charge', async () => {
    await world.queued(robot.id, 1);
    const first = await world.settled(lease);
    const charged = await balance();
    await world.reorged(lease, first);
    await die(first);
    const second = await world.committed(lease);
    await world.store.deleteRobot(robot.id, robot.wallet, world.now);

    await die(second);
    await world.settled(lease);

    expect(await balance()).toEqual(charged);
    expect(await queued()).toEqual([]);
  });

  it('applies once, and never to an attempt in a block', async () => {
    await world.queued(robot.id, 1);
    const attempt = await world.included(lease);
    await expect(die(attempt)).rejects.toMatchObject(failsWith('illegal_transition'));

    await world.reorged(lease, attempt);
    await die(attempt);
    await expect(die(attempt)).rejects.toMatchObject(failsWith('illegal_transition'));
    const mined = world.mined(attempt);
    await expect(
      world.store.recordInclusion(lease, attempt.id, mined, world.now),
    ).rejects.toMatchObject(failsWith('illegal_transition'));

    expect(await queued()).toMatchObject([{ generation: 1 }]);
  });

  it('continues after a restart', async () => {
    const [task] = await world.queued(robot.id, 1);
    await die(await world.committed(lease));

    await world.reopen();
    lease = await world.regained(lease);
    await world.settled(lease);

    expect(await completion(task)).toMatchObject({ state: 'included' });
  });
}
