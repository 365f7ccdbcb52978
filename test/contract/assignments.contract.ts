import { afterEach, beforeEach, expect, it } from 'vitest';
import { merkleTree } from '../../src/proof/tree.ts';
import type { Lease } from '../../src/server/ports/anchoring.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import { failsWith, type OpenStore, World } from './world.ts';

/** Attempts that get their leaves in several commits. */
export function assignmentContract(open: OpenStore): void {
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

  const stateOf = async (taskId: string | undefined) =>
    (await world.store.getTask(taskId ?? '', { robotId: robot.id }))?.completion;
  const queued = () => world.store.listQueuedProofs(lease, 10);
  const returned = async (limit: number) => {
    while (await world.store.returnLeaves(lease, limit, world.now));
  };

  /** An attempt for 5 queued proofs, of which the first 4 are assigned to it, 2 in each commit. */
  async function assigned() {
    const tasks = await world.queued(robot.id, 5);
    const attempt = world.attempt(await queued(), { assigned: 4 });
    await world.store.assignLeaves(lease, attempt, 0, 2);
    await world.store.assignLeaves(lease, attempt, 2, 4);
    return { tasks, attempt };
  }

  it('takes its proofs from the queue, and is no attempt before the last commit', async () => {
    const { tasks, attempt } = await assigned();

    expect((await queued()).map(({ taskId }) => taskId)).toEqual([tasks[4]?.id]);
    expect(await stateOf(tasks[0]?.id)).toMatchObject({ state: 'submitted', txHash: null });
    expect(await world.store.listOpenAttempts(lease)).toEqual([]);
    expect(await world.store.checkInvariants()).toEqual([]);
    await world.store.commitAttempt(lease, attempt);
    expect(await world.store.listOpenAttempts(lease)).toMatchObject([
      { id: attempt.id, unsettledLeaves: 5 },
    ]);
  });

  it('settles each proof at its place in the tree', async () => {
    const { tasks, attempt } = await assigned();
    await world.store.commitAttempt(lease, attempt);
    await world.store.recordInclusion(lease, attempt.id, world.mined(attempt), world.now);
    while ((await world.store.settleLeaves(lease, attempt.id, 3, world.now)) > 0);

    const { path } = merkleTree(attempt.leaves.map(({ leaf }) => leaf));
    const receipts = await Promise.all(tasks.map(({ id }) => stateOf(id)));
    expect(receipts.map((completion) => completion?.receipt?.inclusion?.path)).toEqual(
      tasks.map((_, i) => path(i)),
    );
  });

  it('returns them to the queue in their order after a crash, and anchors each once', async () => {
    const { tasks } = await assigned();
    await world.reopen();
    lease = await world.regained(lease);

    expect(await world.store.returnLeaves(lease, 3, world.now)).toBe(true);
    expect(await world.store.checkInvariants()).toEqual([]);
    await returned(3);

    const expected = tasks.map(({ id }) => ({ taskId: id, generation: 0 }));
    expect(await queued()).toMatchObject(expected);
    await world.settled(lease);
    expect(await stateOf(tasks[0]?.id)).toMatchObject({ state: 'included', attempts: 1 });
  });

  it('rejects the last commit with not_queued once they were returned', async () => {
    const { attempt } = await assigned();
    await returned(10);

    await expect(world.store.commitAttempt(lease, attempt)).rejects.toMatchObject(
      failsWith('not_queued'),
    );
    expect(await queued()).toHaveLength(5);
  });

  it('assigns no proof twice', async () => {
    const { attempt } = await assigned();
    const twin = world.attempt(
      attempt.leaves.map((one) => ({ ...one, proofHash: one.leaf, generation: 0 })),
    );

    await expect(world.store.assignLeaves(lease, twin, 0, 2)).rejects.toMatchObject(
      failsWith('not_queued'),
    );
  });

  it('keeps the leaves of tasks that are deleted meanwhile', async () => {
    const { attempt } = await assigned();
    await world.store.deleteRobot(robot.id, robot.wallet, world.now);
    await returned(10);
    expect(await world.store.checkInvariants()).toEqual([]);
    const again = await queued();

    expect(again.map(({ leaf }) => leaf)).toEqual(attempt.leaves.map(({ leaf }) => leaf));
    await world.settled(lease);
  });

  it('lists its sender as one to follow', async () => {
    await assigned();

    expect(await world.store.listOpenSenders()).toMatchObject([{ address: lease.sender }]);
    await returned(10);
    expect(await world.store.listOpenSenders()).toEqual([]);
  });

  it('leaves the assignments of another sender alone', async () => {
    await assigned();

    expect(await world.store.returnLeaves(await world.lease(), 10, world.now)).toBe(false);
    expect(await queued()).toHaveLength(1);
  });
}
