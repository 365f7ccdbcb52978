import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lease } from '../../src/server/ports/anchoring.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import {
  chainId,
  failsWith,
  newWallet,
  type OpenStore,
  quote,
  randomHash,
  World,
} from './world.ts';

export function anchorContract(open: OpenStore): void {
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

  describe('the chain', () => {
    it('is fixed by the first binding', async () => {
      const identity = { chainId, blockNumber: 0, blockHash: randomHash() };
      expect(await world.store.getChainIdentity()).toBeNull();

      await world.store.bindChain(identity);
      await world.store.bindChain(identity);

      expect(await world.store.getChainIdentity()).toEqual(identity);
    });

    it.each([{ chainId: 1 }, { blockNumber: 1 }, { blockHash: randomHash() }])(
      'refuses another chain (%#)',
      async (change) => {
        const identity = { chainId, blockNumber: 0, blockHash: randomHash() };
        await world.store.bindChain(identity);

        await expect(world.store.bindChain({ ...identity, ...change })).rejects.toMatchObject(
          failsWith('chain_mismatch'),
        );
        expect(await world.store.getChainIdentity()).toEqual(identity);
      },
    );

    it('has a status that keeps its quote if none is given', async () => {
      await world.store.saveChainStatus(lease, {
        degraded: ['low funds'],
        parked: 0,
        now: world.now + 5,
      });

      expect(await world.store.getChainStatus()).toEqual({
        quote,
        degraded: ['low funds'],
        isStopped: false,
        parked: 0,
        underfunded: [],
      });
    });

    it('reports the funds of underfunded accounts', async () => {
      const other = await world.lease();
      const { now } = world;
      const low = { degraded: ['fee_jump', 'underfunded'], parked: 0, now };
      const funds = { balance: 3n, neededWei: 10n ** 30n };
      await world.store.saveChainStatus(lease, { ...low, ...funds });
      await world.store.saveChainStatus(other, { ...funds, degraded: [], parked: 0, now });
      const { sender: address } = lease;

      const first = await world.store.getChainStatus();
      await world.store.saveChainStatus(lease, low);
      const second = await world.store.getChainStatus();

      expect(first?.underfunded).toEqual([
        { address, balanceWei: '3', neededWei: String(10n ** 30n) },
      ]);
      expect(second?.underfunded).toEqual([{ address, balanceWei: null, neededWei: null }]);
    });

    it('is stopped while every sender has a permanent reason', async () => {
      const other = await world.lease();
      const { now } = world;
      const stopped = { degraded: ['fee_jump', 'underfunded'], parked: 0, now };
      await world.store.saveChainStatus(lease, stopped);
      await world.store.saveChainStatus(other, { degraded: ['fee_cap'], parked: 0, now });

      expect(await world.store.getChainStatus()).toMatchObject({ isStopped: false });
      await world.store.saveChainStatus(other, stopped);
      expect(await world.store.getChainStatus()).toMatchObject({ isStopped: true });
    });

    it('reports the reasons of all senders, each once, while their leases are held', async () => {
      const other = await world.lease();
      const { now } = world;
      await world.store.saveChainStatus(lease, { degraded: ['fee_cap'], parked: 2, now });
      await world.store.saveChainStatus(other, { degraded: ['fee_cap', 'a'], parked: 1, now });

      expect(await world.store.getChainStatus()).toMatchObject({
        degraded: ['a', 'fee_cap'],
        parked: 3,
      });
      await world.store.releaseLease(other);
      expect(await world.store.getChainStatus()).toMatchObject({
        degraded: ['fee_cap'],
        parked: 2,
      });
    });

    it('has no quote until one is saved, and then the newest', async () => {
      const fresh = await World.open(open);
      try {
        expect(await fresh.store.getChainStatus()).toBeNull();
        const other = await fresh.lease();
        const newer = { ...quote, baseFeePerGas: 99n };
        await fresh.store.saveChainStatus(other, { quote: newer, degraded: [], parked: 0, now: 1 });
        expect((await fresh.store.getChainStatus())?.quote).toEqual(newer);
      } finally {
        await fresh.close();
      }
    });
  });

  describe('the queue', () => {
    it('lists proofs oldest first, up to the limit', async () => {
      const tasks = await world.queued(robot.id, 3);

      const queued = await world.store.listQueuedProofs(lease, 2);

      expect(queued.map(({ taskId }) => taskId)).toEqual(tasks.slice(0, 2).map(({ id }) => id));
      expect(queued[0]).toMatchObject({ generation: 0 });
    });

    it('gives each account a turn, however many proofs another account has', async () => {
      const many = await world.queued(robot.id, 6);
      await world.committed(lease, 2);
      const other = await world.robot();
      const few = await world.queued(other.id, 2);

      const listed = await world.store.listQueuedProofs(lease, 10);

      const expected = [few[0], many[2], few[1], many[3], many[4], many[5]];
      expect(listed.map(({ taskId }) => taskId)).toEqual(expected.map((task) => task?.id));
    });

    it('gives an account no turns for the time in which it had no proofs', async () => {
      await world.queued(robot.id, 5);
      await world.committed(lease, 5);
      const other = await world.robot();
      const busy = await world.queued(robot.id, 1);
      const late = await world.queued(other.id, 2);

      const listed = await world.store.listQueuedProofs(lease, 10);

      const expected = [late[0], busy[0], late[1]];
      expect(listed.map(({ taskId }) => taskId)).toEqual(expected.map((task) => task?.id));
    });

    it('holds no proof that was signed', async () => {
      await world.queued(robot.id, 3);
      await world.committed(lease, 2);

      expect(await world.store.listQueuedProofs(lease, 10)).toHaveLength(1);
    });

    it('returns the reservation of a refused proof', async () => {
      const before = await world.store.getBalance(robot.wallet);
      const [task] = await world.queued(robot.id, 1);
      const id = task?.id ?? '';

      await world.store.failQueuedProofs(lease, [id], 'no funds', world.now);
      await world.store.failQueuedProofs(lease, [id], 'no funds', world.now);

      expect(await stateOf(id)).toMatchObject({ state: 'failed', receipt: null });
      expect(await world.store.getBalance(robot.wallet)).toEqual(before);
      expect(await world.store.checkInvariants()).toEqual([]);
    });

    it('accepts a refused proof again with a new reservation', async () => {
      const [task] = await world.queued(robot.id, 1);
      if (task === undefined) throw new Error('One task was queued');
      await world.store.failQueuedProofs(lease, [task.id], 'no funds', world.now);

      const again = await world.store.queueCompletion(world.completion(task, { again: true }));
      await world.settled(lease);

      expect(again).toEqual({ outcome: 'queued' });
      expect(await stateOf(task.id)).toMatchObject({ state: 'included', attempts: 1 });
      expect(await world.store.checkInvariants()).toEqual([]);
    });

    it('refuses nothing that was signed', async () => {
      const [task] = await world.queued(robot.id, 1);
      await world.committed(lease);

      await world.store.failQueuedProofs(lease, [task?.id ?? ''], 'no funds', world.now);

      expect(await stateOf(task?.id ?? '')).toMatchObject({ state: 'submitted' });
    });
  });

  describe('committing an attempt', () => {
    it('keeps everything that is needed to send it again', async () => {
      await world.queued(robot.id, 3);
      const attempt = await world.committed(lease);

      await world.reopen();
      lease = await world.regained(lease);

      expect(await world.store.listOpenAttempts(lease)).toEqual([
        {
          id: attempt.id,
          nonce: attempt.nonce,
          state: 'signed',
          payload: attempt.payload,
          unsettledLeaves: 3,
          variants: [attempt.variant],
          minedTxHash: null,
          takenBy: null,
          createdAt: world.now,
        },
      ]);
    });

    it('marks its completions as submitted, with the transaction', async () => {
      const [task] = await world.queued(robot.id, 2);
      const attempt = await world.committed(lease);

      expect(await stateOf(task?.id ?? '')).toMatchObject({
        state: 'submitted',
        attempts: 1,
        txHash: attempt.variant.txHash,
        receipt: null,
      });
    });

    it('advances the next nonce of its sender only', async () => {
      expect(await world.store.getNextNonce(lease)).toBeNull();
      await world.queued(robot.id, 1);
      await world.store.commitAttempt(
        lease,
        world.attempt(await world.store.listQueuedProofs(lease, 1), { nonce: 41 }),
      );

      expect(await world.store.getNextNonce(lease)).toBe(42);
      expect(await world.store.getNextNonce(await world.lease(newWallet()))).toBeNull();
    });

    it.each([41, 43])('rejects nonce %i after nonce 41, and writes nothing', async (nonce) => {
      await world.queued(robot.id, 2);
      const [first, second] = await world.store.listQueuedProofs(lease, 2);
      if (first === undefined || second === undefined) throw new Error('Two proofs wait');
      await world.store.commitAttempt(lease, world.attempt([first], { nonce: 41 }));

      await expect(
        world.store.commitAttempt(lease, world.attempt([second], { nonce })),
      ).rejects.toMatchObject(failsWith('nonce_conflict'));
      expect(await world.store.listQueuedProofs(lease, 2)).toEqual([second]);
    });

    it('rejects with not_queued when a leaf is no longer queued, and writes nothing', async () => {
      await world.queued(robot.id, 3);
      const proofs = await world.store.listQueuedProofs(lease, 3);
      const attempt = world.attempt(proofs);
      const gone = proofs[2]?.taskId ?? '';
      await world.store.failQueuedProofs(lease, [gone], 'no funds', world.now);

      await expect(world.store.commitAttempt(lease, attempt)).rejects.toMatchObject(
        failsWith('not_queued'),
      );

      expect(await world.store.getNextNonce(lease)).toBeNull();
      expect(await world.store.listQueuedProofs(lease, 3)).toEqual(proofs.slice(0, 2));
    });

    it('rejects with not_queued when the proof was replaced since it was listed', async () => {
      const [task] = await world.queued(robot.id, 1);
      if (task === undefined) throw new Error('One task was queued');
      const attempt = world.attempt(await world.store.listQueuedProofs(lease, 1));
      await world.store.failQueuedProofs(lease, [task.id], 'no funds', world.now);
      await world.store.queueCompletion(world.completion(task, { other: true }));

      await expect(world.store.commitAttempt(lease, attempt)).rejects.toMatchObject(
        failsWith('not_queued'),
      );
    });

    it('rejects with spend_cap above the highest cost of an hour, and writes nothing', async () => {
      await world.queued(robot.id, 3);
      const spend = { maxCostWei: 40n, capWei: 100n };
      const commitNext = async (now = world.now) => {
        const nonce = (await world.store.getNextNonce(lease)) ?? 0;
        const next = await world.store.listQueuedProofs(lease, 1);
        await world.store.commitAttempt(lease, world.attempt(next, { nonce, spend, now }));
      };
      await commitNext();
      await commitNext();

      await expect(commitNext()).rejects.toMatchObject(failsWith('spend_cap'));
      expect(await world.store.getNextNonce(lease)).toBe(2);
      expect(await world.store.readReservedSpend(world.now)).toBe(80n);
      expect(await world.store.listQueuedProofs(lease, 3)).toHaveLength(1);
      await commitNext(world.now + 60 * 60_000);
      expect(await world.store.getNextNonce(lease)).toBe(3);
    });

    it('commits each proof in only one of 10 concurrent attempts', async () => {
      await world.queued(robot.id, 1);
      const proofs = await world.store.listQueuedProofs(lease, 1);
      const attempts = Array.from({ length: 10 }, () => world.attempt(proofs, { nonce: 0 }));

      const results = await Promise.allSettled(
        attempts.map((attempt) => world.store.commitAttempt(lease, attempt)),
      );

      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await world.store.checkInvariants()).toEqual([]);
    });
  });

  describe('following an attempt', () => {
    it('records once that it was sent', async () => {
      await world.queued(robot.id, 1);
      const { id } = await world.committed(lease);

      await world.store.recordBroadcast(lease, id, world.now);
      await world.store.recordBroadcast(lease, id, world.now);

      expect(await world.store.listOpenAttempts(lease)).toMatchObject([{ id, state: 'submitted' }]);
    });

    it('keeps what was mined as mined when it is sent again', async () => {
      await world.queued(robot.id, 1);
      const { id } = await world.included(lease);

      await world.store.recordBroadcast(lease, id, world.now);

      expect(await world.store.listOpenAttempts(lease)).toMatchObject([{ id, state: 'included' }]);
    });

    it('settles nothing by recording where it was mined', async () => {
      const [task] = await world.queued(robot.id, 1);
      await world.included(lease);

      expect(await stateOf(task?.id ?? '')).toMatchObject({ state: 'submitted', receipt: null });
    });

    it('accepts only a variant as mined', async () => {
      await world.queued(robot.id, 1);
      const attempt = await world.committed(lease);
      const foreign = world.mined(attempt, { txHash: randomHash() });

      await expect(
        world.store.recordInclusion(lease, attempt.id, foreign, world.now),
      ).rejects.toThrow();
      expect(await world.store.listOpenAttempts(lease)).toMatchObject([{ state: 'signed' }]);
    });

    it('changes no attempt of another sender', async () => {
      await world.queued(robot.id, 1);
      const attempt = await world.included(lease);
      const other = await world.lease(newWallet());

      await expect(world.store.recordBroadcast(other, attempt.id, world.now)).rejects.toThrow();
      await expect(
        world.store.recordInclusion(other, attempt.id, world.mined(attempt), world.now),
      ).rejects.toThrow();
      await expect(world.store.settleLeaves(other, attempt.id, 1, world.now)).rejects.toThrow();
      expect(await world.store.listOpenAttempts(other)).toEqual([]);
    });

    it('lists every account with an open attempt', async () => {
      expect(await world.store.listOpenSenders()).toEqual([]);
      await world.queued(robot.id, 1);
      await world.committed(lease);
      await world.lease();

      expect(await world.store.listOpenSenders()).toEqual([{ chainId, address: lease.sender }]);
    });

    it('lists an account until its anchors are final', async () => {
      await world.queued(robot.id, 1);
      const { id } = await world.settled(lease);
      expect(await world.store.listOpenSenders()).toHaveLength(1);

      const inclusions = { safe: [], finalized: [id], reorged: [] };
      await world.store.recordInclusionChanges(lease, inclusions, world.now);

      expect(await world.store.listOpenSenders()).toEqual([]);
    });

    it('lists open attempts by nonce, without settled ones', async () => {
      await world.queued(robot.id, 3);
      const settled = await world.included(lease, 1);
      const second = await world.committed(lease, 1);
      const third = await world.committed(lease, 1);
      await world.store.settleLeaves(lease, settled.id, 1, world.now);

      const open = await world.store.listOpenAttempts(lease);

      expect(open.map(({ id }) => id)).toEqual([second.id, third.id]);
    });
  });
}
