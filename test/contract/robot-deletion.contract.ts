import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lease } from '../../src/server/ports/anchoring.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import { failsWith, newWallet, type OpenStore, World } from './world.ts';

export function robotDeletionContract(open: OpenStore): void {
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

  const remove = (wallet = robot.wallet) => world.store.deleteRobot(robot.id, wallet, world.now);
  const balance = () => world.store.getBalance(robot.wallet);

  it('ends the robot and its key', async () => {
    expect(await remove()).toBe(true);

    expect(await world.store.getRobot(robot.id, robot.wallet)).toBeNull();
    expect(await world.store.authenticateRobot(robot.keyHash)).toBeNull();
    expect(await world.store.listRobots(robot.wallet, 10, null)).toEqual([]);
    expect(await remove()).toBe(false);
  });

  it('keeps the id of the robot taken, for every account', async () => {
    await remove();

    for (const wallet of [robot.wallet, await world.account()]) {
      const created = await world.store.createRobot({ ...world.newRobot(wallet), id: robot.id });
      expect(created).toEqual({ outcome: 'id_used', robot: null });
    }
  });

  it('finds no robot of another account', async () => {
    expect(await remove(newWallet())).toBe(false);

    expect(await world.store.authenticateRobot(robot.keyHash)).not.toBeNull();
  });

  it('deletes or refuses claims and completions in progress', async () => {
    const task = await world.task(robot.id);
    const claim = world.newTask(robot.id);

    await Promise.all([
      remove(),
      world.store.createTask(claim),
      world.store.queueCompletion(world.completion(task)),
    ]);

    const viewer = { wallet: robot.wallet };
    expect(await world.store.getTask(claim.id, viewer)).toBeNull();
    expect(await world.store.getTask(task.id, viewer)).toBeNull();
    expect(await world.store.createTask(claim)).toEqual({ outcome: 'key_revoked' });
  });

  it('deletes its tasks, whose ids stay taken, and no others', async () => {
    const sibling = await world.robot(robot.wallet);
    const kept = await world.task(sibling.id);
    const [verified] = await world.queued(robot.id, 1);
    await world.settled(lease);
    const claimed = await world.task(robot.id);

    await remove();

    for (const task of [verified, claimed]) {
      const id = task?.id ?? '';
      const again = world.newTask(sibling.id, { id, idGiven: true });
      expect(await world.store.getTask(id, { wallet: robot.wallet })).toBeNull();
      expect(await world.store.createTask(again)).toEqual({ outcome: 'id_conflict' });
    }
    expect(await world.store.getTask(kept.id, { wallet: robot.wallet })).toEqual(kept);
  });

  it('keeps only the leaves of proofs that wait to be signed', async () => {
    const [task] = await world.queued(robot.id, 1);
    const [queued] = await world.store.listQueuedProofs(lease, 10);
    await remove();

    const kept = await world.store.listQueuedProofs(lease, 10);

    expect(queued).toMatchObject({ taskId: task?.id });
    expect(kept).toEqual([{ ...queued, proofHash: queued?.leaf }]);
    expect(await world.store.findPublicAnchor(queued?.proofHash ?? '0x', null)).toBeNull();
  });

  it('anchors the leaves that it keeps, and charges them once', async () => {
    const before = await balance();
    await world.queued(robot.id, 3);
    await remove();

    await world.settled(lease);

    expect((await balance())?.anchorQuota).toBe((before?.anchorQuota ?? 0) - 3);
    expect(await world.store.listQueuedProofs(lease, 10)).toEqual([]);
    expect(await world.store.listOpenAttempts(lease)).toEqual([]);
  });

  it('gives back the reservation of a kept leaf that the chain refuses', async () => {
    const before = await balance();
    const [task] = await world.queued(robot.id, 1);
    await remove();

    await world.store.failQueuedProofs(lease, [task?.id ?? ''], 'reverted', world.now);

    expect(await balance()).toEqual(before);
    expect(await world.store.listQueuedProofs(lease, 10)).toEqual([]);
  });

  it('releases nothing for proofs that failed before', async () => {
    const before = await balance();
    const [task] = await world.queued(robot.id, 1);
    await world.store.failQueuedProofs(lease, [task?.id ?? ''], 'reverted', world.now);

    await remove();

    expect(await balance()).toEqual(before);
  });

  it('accepts a batch with a proof that was deleted while it was signed', async () => {
    await world.queued(robot.id, 1);
    const attempt = world.attempt(await world.store.listQueuedProofs(lease, 10));

    await remove();
    await world.store.commitAttempt(lease, attempt);

    expect(await world.store.listQueuedProofs(lease, 10)).toEqual([]);
    expect(await world.store.listOpenAttempts(lease)).toMatchObject([{ unsettledLeaves: 1 }]);
  });

  describe('with a signed anchor', () => {
    it('lets the anchor complete, and charges it once', async () => {
      const before = await balance();
      await world.queued(robot.id, 1);
      const attempt = await world.committed(lease);

      await remove();
      const held = await balance();
      await world.store.recordBroadcast(lease, attempt.id, world.now);
      await world.store.recordInclusion(lease, attempt.id, world.mined(attempt), world.now);
      const left = await world.store.settleLeaves(lease, attempt.id, 128, world.now);

      expect(held?.anchorQuota).toBe((before?.anchorQuota ?? 0) - 1);
      expect(left).toBe(0);
      expect(await balance()).toEqual({
        ...before,
        anchorQuota: (before?.anchorQuota ?? 0) - 1,
        gasCreditWei: (before?.gasCreditWei ?? 0n) - (22_280n * 11n + 3n),
      });
    });

    it('queues its leaf again when another transaction uses the nonce', async () => {
      const before = await balance();
      await world.queued(robot.id, 1);
      const attempt = await world.committed(lease);
      const [leaf] = attempt.leaves;
      await remove();

      await world.store.recordReplacedNonce(lease, attempt.id, world.now);

      const again = { taskId: leaf?.taskId, leaf: leaf?.leaf, generation: 1 };
      expect(await world.store.listQueuedProofs(lease, 10)).toMatchObject([again]);
      await world.settled(lease);
      expect((await balance())?.anchorQuota).toBe((before?.anchorQuota ?? 0) - 1);
    });

    it('settles a batch that it shares with the task of another robot', async () => {
      const sibling = await world.robot(robot.wallet);
      await world.queued(robot.id, 1);
      const [kept] = await world.queued(sibling.id, 1);
      const attempt = await world.included(lease);

      await remove();
      await world.store.settleLeaves(lease, attempt.id, 128, world.now);

      const task = await world.store.getTask(kept?.id ?? '', { robotId: sibling.id });
      expect(task?.completion?.receipt?.inclusion?.leaf_index).toBe(1);
      expect(await world.store.listOpenAttempts(lease)).toEqual([]);
    });

    it('continues after a restart', async () => {
      await world.queued(robot.id, 2);
      const attempt = await world.included(lease);
      await world.store.settleLeaves(lease, attempt.id, 1, world.now);
      await remove();

      await world.reopen();
      lease = await world.regained(lease);

      expect(await world.store.listOpenAttempts(lease)).toMatchObject([{ unsettledLeaves: 1 }]);
      expect(await world.store.settleLeaves(lease, attempt.id, 128, world.now)).toBe(0);
    });
  });

  it('leaves nothing that the public can find', async () => {
    const evidence = { boxes: 2 };
    const sibling = await world.robot(robot.wallet);
    const mine = world.completion(await world.task(robot.id), evidence);
    const other = world.completion(await world.task(sibling.id), evidence);
    await world.store.queueCompletion(mine);
    await world.settled(lease);
    await world.store.queueCompletion(other);

    await remove();

    expect(await world.store.findPublicAnchor(mine.proofHash, mine.taskId)).toBeNull();
    expect(await world.store.findPublicAnchor(mine.proofHash, null)).toMatchObject({
      task: { id: other.taskId },
      occurrences: 1,
    });
  });

  it('wakes the requests that wait for its completions', async () => {
    const [queued] = await world.queued(robot.id, 1);
    await world.committed(lease);
    const [waiting] = await world.queued(robot.id, 1);
    const ended = Promise.all(
      [queued, waiting].map((task) =>
        world.store.waitForCompletions([task?.id ?? ''], new AbortController().signal),
      ),
    );

    await remove();

    await expect(ended).resolves.toHaveLength(2);
  });

  it('first revokes the key, and continues after an interruption', async () => {
    await Promise.all(
      Array.from({ length: 700 }, () => world.store.createTask(world.newTask(robot.id))),
    );
    await world.queued(robot.id, 1);

    const cut = remove();
    const refused = expect(cut).rejects.toMatchObject(failsWith('storage_unavailable'));
    const hasKey = async () =>
      (await world.store.getRobot(robot.id, robot.wallet))?.keyHint !== null;
    while (await hasKey()) await nextTurn();
    await world.store.close();
    await refused;
    await world.reopen();

    expect(await world.store.getRobot(robot.id, robot.wallet)).toMatchObject({ keyHint: null });
    expect(await world.store.checkInvariants()).toEqual([]);
    expect(await remove()).toBe(true);
    expect(await world.store.getRobot(robot.id, robot.wallet)).toBeNull();
  });

  it('deletes a long history, even if it is requested twice at once', async () => {
    await Promise.all(
      Array.from({ length: 700 }, () => world.store.createTask(world.newTask(robot.id))),
    );
    const last = await world.task(robot.id);

    const results = await Promise.all([remove(), remove()]);

    expect(results).toContain(true);
    expect(await world.store.getRobot(robot.id, robot.wallet)).toBeNull();
    expect(await world.store.getTask(last.id, { wallet: robot.wallet })).toBeNull();
  });
}
