import { afterEach, beforeEach, expect, it } from 'vitest';
import { merkleTree } from '../../src/proof/tree.ts';
import type { Lease } from '../../src/server/ports/anchoring.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import { chainId, type OpenStore, reservedWei, World } from './world.ts';

export function settlementContract(open: OpenStore): void {
  let world: World;
  let lease: Lease;
  let robot: NewRobot;
  beforeEach(async () => {
    world = await World.open(open);
    lease = await world.lease();
    robot = await world.robot();
  });
  afterEach(() => world.close());

  const stateOf = async (taskId: string) =>
    (await world.store.getTask(taskId, { robotId: robot.id }))?.completion;

  it('verifies the task, with the receipt of a single', async () => {
    const [task] = await world.queued(robot.id, 1);
    const attempt = await world.settled(lease);

    const stored = await world.store.getTask(task?.id ?? '', { robotId: robot.id });

    expect(stored?.status).toBe('verified');
    expect(stored?.completion).toMatchObject({
      state: 'included',
      txHash: attempt.variant.txHash,
    });
    expect(stored?.completion?.receipt).toEqual({
      chainId,
      txHash: attempt.variant.txHash,
      from: lease.sender,
      blockNumber: 5n,
      anchoredAt: world.now,
      inclusion: null,
      finality: 'included',
    });
  });

  it('gives each leaf of a batch its place in the tree', async () => {
    const tasks = await world.queued(robot.id, 3);
    const attempt = await world.settled(lease);

    const receipts = await Promise.all(tasks.map(({ id }) => stateOf(id)));

    const { root, path } = merkleTree(attempt.leaves.map(({ leaf }) => leaf));
    expect(root).toBe(attempt.root);
    expect(receipts.map((completion) => completion?.receipt?.inclusion)).toEqual(
      tasks.map((_, leaf_index) => ({ root, leaf_index, leaf_count: 3, path: path(leaf_index) })),
    );
  });

  it('charges each leaf its share, adds the remainder to the first, and returns the rest', async () => {
    await world.queued(robot.id, 3);
    const before = await world.store.getBalance(robot.wallet);
    await world.settled(lease);

    const after = await world.store.getBalance(robot.wallet);

    const cost = 22_280n * 11n + 3n;
    expect(after?.gasCreditWei).toBe((before?.gasCreditWei ?? 0n) + 3n * reservedWei - cost);
    expect(after?.anchorQuota).toBe(before?.anchorQuota);
  });

  it('charges no more than was reserved', async () => {
    await world.queued(robot.id, 1);
    const before = await world.store.getBalance(robot.wallet);
    const attempt = await world.committed(lease);
    const dear = world.mined(attempt, { effectiveGasPrice: 10n ** 12n });
    await world.store.recordInclusion(lease, attempt.id, dear, world.now);

    await world.store.settleLeaves(lease, attempt.id, 1, world.now);

    expect(await world.store.getBalance(robot.wallet)).toEqual(before);
    expect(await world.store.checkInvariants()).toEqual([]);
  });

  it('continues at the first unsettled leaf, and returns how many are left', async () => {
    const tasks = await world.queued(robot.id, 5);
    const attempt = await world.included(lease);

    expect(await world.store.settleLeaves(lease, attempt.id, 2, world.now)).toBe(3);
    expect(await stateOf(tasks[1]?.id ?? '')).toMatchObject({ state: 'included' });
    expect(await stateOf(tasks[2]?.id ?? '')).toMatchObject({ state: 'submitted' });
    expect(await world.store.checkInvariants()).toEqual([]);
    await world.reopen();
    lease = await world.regained(lease);
    expect(await world.store.listOpenAttempts(lease)).toMatchObject([{ unsettledLeaves: 3 }]);
    expect(await world.store.settleLeaves(lease, attempt.id, 2, world.now)).toBe(1);
    expect(await world.store.settleLeaves(lease, attempt.id, 2, world.now)).toBe(0);
    expect(await world.store.checkInvariants()).toEqual([]);
  });

  it('changes nothing if it is repeated', async () => {
    await world.queued(robot.id, 2);
    const attempt = await world.settled(lease);
    const balance = await world.store.getBalance(robot.wallet);

    expect(await world.store.settleLeaves(lease, attempt.id, 10, world.now)).toBe(0);

    expect(await world.store.getBalance(robot.wallet)).toEqual(balance);
  });

  it('charges the cost of the first inclusion, wherever it is mined later', async () => {
    await world.queued(robot.id, 2);
    const before = await world.store.getBalance(robot.wallet);
    const attempt = await world.included(lease);
    await world.store.settleLeaves(lease, attempt.id, 1, world.now);
    const moved = world.mined(attempt, { blockNumber: 9n, effectiveGasPrice: 1n });
    await world.store.recordInclusion(lease, attempt.id, moved, world.now);

    await world.store.settleLeaves(lease, attempt.id, 1, world.now);

    const after = await world.store.getBalance(robot.wallet);
    const cost = 22_280n * 11n + 3n;
    expect(after?.gasCreditWei).toBe((before?.gasCreditWei ?? 0n) + 2n * reservedWei - cost);
    const receipt = (await stateOf(attempt.leaves[0]?.taskId ?? ''))?.receipt;
    expect(receipt?.blockNumber).toBe(9n);
  });

  it('settles no attempt that is not included', async () => {
    await world.queued(robot.id, 1);
    const attempt = await world.committed(lease);

    await expect(world.store.settleLeaves(lease, attempt.id, 1, world.now)).rejects.toThrow();
  });
}
