import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { InclusionChanges, Lease, NewAttempt } from '../../src/server/ports/anchoring.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import type { TaskRecord } from '../../src/server/ports/tasks.ts';
import { failsWith, newWallet, type OpenStore, randomHash, World } from './world.ts';

export function finalityContract(open: OpenStore): void {
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
  const record = (inclusions: Partial<InclusionChanges>, holder = lease) =>
    world.store.recordInclusionChanges(
      holder,
      { safe: [], finalized: [], reorged: [], ...inclusions },
      world.now,
    );
  const blocks = async (limit: number) =>
    (await world.store.listIncludedAttempts(lease, limit)).map(({ blockNumber }) => blockNumber);

  it('follows included attempts, with everything needed to look them up', async () => {
    await world.queued(robot.id, 1);
    const attempt = await world.committed(lease);
    const mined = world.mined(attempt);
    expect(await world.store.listIncludedAttempts(lease, 5)).toEqual([]);
    await world.store.recordInclusion(lease, attempt.id, mined, world.now);

    await world.reopen();
    lease = await world.regained(lease);

    expect(await world.store.listIncludedAttempts(lease, 5)).toEqual([
      {
        id: attempt.id,
        txHash: attempt.variant.txHash,
        blockNumber: mined.blockNumber,
        blockHash: mined.blockHash,
        isSafe: false,
      },
    ]);
  });

  it('follows the lowest and the highest blocks where there are many', async () => {
    for (const blockNumber of [5n, 9n, 6n, 8n, 7n]) {
      await world.queued(robot.id, 1);
      const attempt = await world.committed(lease);
      const mined = world.mined(attempt, { blockNumber });
      await world.store.recordInclusion(lease, attempt.id, mined, world.now);
    }

    expect(await blocks(1)).toEqual([5n, 9n]);
    expect(await blocks(2)).toEqual([5n, 6n, 8n, 9n]);
    expect(await blocks(4)).toEqual([5n, 6n, 7n, 8n, 9n]);
  });

  it('follows the blocks in between from a place downwards', async () => {
    const ids: string[] = [];
    for (const blockNumber of [7n, 5n, 7n, 9n, 6n]) {
      await world.queued(robot.id, 1);
      const attempt = await world.committed(lease);
      const mined = world.mined(attempt, { blockNumber });
      await world.store.recordInclusion(lease, attempt.id, mined, world.now);
      ids.push(attempt.id);
    }
    const [first = '', lowest, second = '', highest = '', low] = ids;
    const [sevenLow, sevenHigh] = [first, second].sort();
    const below = async (blockNumber: bigint, id: string, limit = 5) =>
      (await world.store.listIncludedBelow(lease, { blockNumber, id }, limit)).map(({ id }) => id);

    expect(await below(9n, highest)).toEqual([sevenHigh, sevenLow, low, lowest]);
    expect(await below(9n, highest, 1)).toEqual([sevenHigh]);
    expect(await below(7n, sevenHigh ?? '', 2)).toEqual([sevenLow, low]);
    expect(await below(5n, lowest ?? '')).toEqual([]);
  });

  it('returns the bytes of all mined attempts that are not lost', async () => {
    const attempts: NewAttempt[] = [];
    for (let i = 0; i < 4; i += 1) {
      await world.queued(robot.id, 1);
      attempts.push(await world.settled(lease));
    }
    const [, second, third, fourth] = attempts;
    await record({
      finalized: attempts.slice(0, 2).map(({ id }) => id),
      reorged: [third?.id ?? ''],
    });

    const from = async (nonce = 0, limit = 5) =>
      (await world.store.listMinedFrom(lease, nonce, limit)).map(({ rawTx }) => rawTx);

    const [secondTx, fourthTx] = [second?.variant.rawTx, fourth?.variant.rawTx];
    expect(await from(second?.nonce)).toEqual([secondTx, fourthTx]);
    expect(await from(second?.nonce, 1)).toEqual([secondTx]);
    expect(await from((fourth?.nonce ?? 0) + 1)).toEqual([]);
  });

  it('is lost by a final anchor if another block is at its number', async () => {
    const [task] = await world.queued(robot.id, 1);
    const { id, nonce } = await world.settled(lease);
    await record({ finalized: [id] });
    const [final] = await world.store.listMinedFrom(lease, nonce, 1);

    await record({ reorged: [id] });

    expect(final).toMatchObject({ id, isFinal: true });
    expect(await completion(task)).toMatchObject({ state: 'reorged' });
    expect(await world.store.listMinedFrom(lease, nonce, 1)).toEqual([]);
    expect(await world.store.listOpenAttempts(lease)).toMatchObject([{ id, state: 'reorged' }]);
    expect(await world.store.checkInvariants()).toEqual([]);
  });

  it('distinguishes nonces that were used elsewhere from its own', async () => {
    await world.queued(robot.id, 2);
    const dead = world.attempt(await world.store.listQueuedProofs(lease, 1), { nonce: 3 });
    await world.store.commitAttempt(lease, dead);
    const own = await world.committed(lease, 1);
    await world.store.recordReplacedNonce(lease, dead.id, world.now);
    const { chainId, sender: address } = lease;
    const use = { nonce: own.nonce + 1, txHash: own.variant.txHash };
    await world.store.recordForeignNonces({ chainId, address }, [use], world.now);

    const used = [2, dead.nonce, own.nonce, own.nonce + 1, own.nonce + 2].map((nonce) =>
      world.store.isUsedElsewhere(lease, nonce),
    );

    expect(await Promise.all(used)).toEqual([true, true, false, true, false]);
  });

  it('goes from included through safe to finalized, in receipt and completion', async () => {
    const [task] = await world.queued(robot.id, 2);
    const { id } = await world.settled(lease);

    await record({ safe: [id] });
    expect(await completion(task)).toMatchObject({
      state: 'included',
      receipt: { finality: 'safe' },
    });
    expect(await world.store.listIncludedAttempts(lease, 1)).toMatchObject([{ isSafe: true }]);
    world.clock.advance(1);
    await record({ finalized: [id] });

    expect(await completion(task)).toMatchObject({
      state: 'finalized',
      receipt: { finality: 'finalized' },
      updatedAt: world.now,
    });
    expect(await world.store.listIncludedAttempts(lease, 1)).toEqual([]);
  });

  it('is recorded for many attempts, or for none of them', async () => {
    const attempts: NewAttempt[] = [];
    for (let i = 0; i < 3; i += 1) {
      await world.queued(robot.id, 1);
      attempts.push(await world.settled(lease));
    }
    const [safe = '', finalized = '', reorged = ''] = attempts.map(({ id }) => id);
    const inclusions = { safe: [safe], finalized: [finalized], reorged: [reorged] };

    await expect(record({ ...inclusions, finalized: [finalized, 'none'] })).rejects.toThrow();
    expect(await world.store.listIncludedAttempts(lease, 5)).toHaveLength(3);
    await record(inclusions);

    expect(await world.store.listIncludedAttempts(lease, 5)).toMatchObject([{ id: safe }]);
    expect(await world.store.listOpenAttempts(lease)).toMatchObject([
      { id: reorged, state: 'reorged', minedTxHash: attempts[2]?.variant.txHash },
    ]);
  });

  it('may precede the settlement, which continues', async () => {
    const tasks = await world.queued(robot.id, 2);
    const { id } = await world.included(lease);
    await world.store.settleLeaves(lease, id, 1, world.now);

    await record({ finalized: [id] });
    expect(await world.store.settleLeaves(lease, id, 1, world.now)).toBe(0);

    expect(await completion(tasks[1])).toMatchObject({ state: 'finalized' });
    expect(await world.store.listOpenAttempts(lease)).toEqual([]);
  });

  it('is revoked only by another block', async () => {
    await world.queued(robot.id, 1);
    const attempt = await world.settled(lease);
    await record({ finalized: [attempt.id] });

    const { store, now } = world;
    for (const move of [
      () => store.recordInclusion(lease, attempt.id, world.mined(attempt), now),
      () => store.recordReplacedNonce(lease, attempt.id, now),
    ]) {
      await expect(move()).rejects.toMatchObject(failsWith('illegal_transition'));
    }
  });

  it('cannot be recorded by another sender', async () => {
    await world.queued(robot.id, 1);
    const { id } = await world.settled(lease);
    const other = await world.lease(newWallet());

    await expect(record({ finalized: [id] }, other)).rejects.toThrow();

    expect(await world.store.listIncludedAttempts(other, 5)).toEqual([]);
    expect(await world.store.listIncludedAttempts(lease, 5)).toHaveLength(1);
  });

  describe('of a block that was replaced', () => {
    it('keeps task and receipt, shown as reorged', async () => {
      const [task] = await world.queued(robot.id, 1);
      const attempt = await world.settled(lease);
      const before = await completion(task);

      await world.reorged(lease, attempt);

      const stored = await world.store.getTask(task?.id ?? '', { robotId: robot.id });
      expect(stored?.status).toBe('verified');
      expect(stored?.completion).toMatchObject({
        state: 'reorged',
        txHash: attempt.variant.txHash,
        receipt: { ...before?.receipt, finality: 'reorged' },
      });
      const [listed] =
        (await world.store.listTasks(
          { wallet: robot.wallet, status: null, robotId: null },
          5,
          null,
        )) ?? [];
      expect(listed?.progress?.state).toBe('reorged');
    });

    it('is no longer safe', async () => {
      const [task] = await world.queued(robot.id, 1);
      const attempt = await world.settled(lease);
      await record({ safe: [attempt.id] });

      await world.reorged(lease, attempt);
      await world.store.recordInclusion(lease, attempt.id, world.mined(attempt), world.now);

      expect((await completion(task))?.receipt?.finality).toBe('included');
    });

    it('stays reorged while it is sent again, and then gets its new place', async () => {
      const [task] = await world.queued(robot.id, 1);
      const attempt = await world.settled(lease);
      const balance = await world.store.getBalance(robot.wallet);
      await world.reorged(lease, attempt);
      await world.store.recordBroadcast(lease, attempt.id, world.now);
      expect(await completion(task)).toMatchObject({ state: 'reorged' });

      const dearer = { blockNumber: 7n, blockHash: randomHash(), effectiveGasPrice: 20n };
      const mined = world.mined(attempt, dearer);
      await world.store.recordInclusion(lease, attempt.id, mined, world.now);

      expect(await completion(task)).toMatchObject({
        state: 'included',
        receipt: { blockNumber: 7n, finality: 'included' },
      });
      expect(await world.store.getBalance(robot.wallet)).toEqual(balance);
    });

    it('settles nothing until it is included again, then the remaining leaves', async () => {
      const tasks = await world.queued(robot.id, 3);
      const attempt = await world.included(lease);
      await world.store.settleLeaves(lease, attempt.id, 1, world.now);
      await world.reorged(lease, attempt);
      await expect(world.store.settleLeaves(lease, attempt.id, 1, world.now)).rejects.toMatchObject(
        failsWith('illegal_transition'),
      );
      expect(await completion(tasks[1])).toMatchObject({ state: 'submitted', receipt: null });

      const mined = world.mined(attempt, { effectiveGasPrice: 1n });
      await world.store.recordInclusion(lease, attempt.id, mined, world.now);
      await world.store.settleLeaves(lease, attempt.id, 5, world.now);

      const states = await Promise.all(tasks.map(completion));
      expect(states.map((one) => one?.state)).toEqual(['included', 'included', 'included']);
    });
  });
}
