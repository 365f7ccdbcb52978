import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lease } from '../../../src/server/ports/anchoring.ts';
import type { Store } from '../../../src/server/ports/store.ts';
import { openPostgresStore } from '../../../src/server/store/postgres/open-store.ts';
import { failsWith, newWallet, World } from '../../contract/world.ts';
import { openTemporaryPostgres } from './temporary-postgres.ts';

/** Two instances on one database, each with the lease of an account of its own. */
let world: World;
let other: Store;
let ours: Lease;
let theirs: Lease;
let robotId: string;
let wallet: string;

beforeEach(async () => {
  let url = '';
  world = await World.open(async (clock) => {
    const opened = await openTemporaryPostgres(clock);
    ({ url } = opened);
    return opened;
  });
  const instant = () => world.now;
  other = await openPostgresStore({ url, poolMax: 4, pooler: false, serves: true, instant });
  ours = await world.lease(newWallet(), 'we');
  theirs = await world.lease(newWallet(), 'they');
  ({ id: robotId, wallet } = await world.robot());
});
afterEach(async () => {
  const violated = await world.store.checkInvariants();
  await other.close();
  await world.close();
  expect(violated).toEqual([]);
});

const namesOf = (proofs: { taskId: string }[]) => proofs.map(({ taskId }) => taskId);

describe('the chain proofs of several instances', () => {
  it('are built by one of them each', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 20; i += 1) {
      await world.queued(robotId, 1);
      ids.push((await world.settled(ours)).id);
    }
    const changes = { safe: [], finalized: ids, reorged: [] };
    await world.store.recordInclusionChanges(ours, changes, world.now);
    const retry = { firstMs: 1_000, maxMs: 1_000 };

    const taken = await Promise.all(
      [world.store, other, world.store, other].map((store) =>
        store.takeUnproven(10, retry, world.now),
      ),
    );
    // Some may have been locked by another when they were looked for.
    const rest = await other.takeUnproven(20, retry, world.now);

    const attempts = [...taken.flat(), ...rest].map(({ attemptId }) => attemptId);
    expect(attempts.toSorted()).toEqual(ids.toSorted());
  });
});

describe('the queue of several instances', () => {
  it('offers each sender different proofs, oldest first', async () => {
    const tasks = await world.queued(robotId, 5);

    const first = await world.store.listQueuedProofs(ours, 2);
    const second = await other.listQueuedProofs(theirs, 10);

    expect(namesOf([...first, ...second])).toEqual(tasks.map(({ id }) => id));
    expect(await world.store.listQueuedProofs(ours, 10)).toEqual(first);
  });

  it('offers no proof twice to simultaneous senders', async () => {
    await world.queued(robotId, 20);

    const [first, second] = await Promise.all([
      world.store.listQueuedProofs(ours, 20),
      other.listQueuedProofs(theirs, 20),
    ]);

    const names = namesOf([...first, ...second]);
    expect(new Set(names).size).toBe(names.length);
  });

  it('offers proofs to others if a sender does not sign them for some seconds', async () => {
    await world.queued(robotId, 2);
    const left = await world.store.listQueuedProofs(ours, 10);
    expect(await other.listQueuedProofs(theirs, 10)).toEqual([]);

    world.clock.advance(15_000);

    expect(await other.listQueuedProofs(theirs, 10)).toEqual(left);
  });

  it('offers proofs of a failed commit to all senders again', async () => {
    await world.queued(robotId, 1);
    const { id } = await world.committed(ours);

    await world.store.recordReplacedNonce(ours, id, world.now);

    expect(await other.listQueuedProofs(theirs, 10)).toHaveLength(1);
  });

  it('commits each proof in only one of two attempts', async () => {
    await world.queued(robotId, 3);
    const proofs = await world.store.listQueuedProofs(ours, 3);
    const reversed = [...proofs].reverse();

    const results = await Promise.allSettled([
      world.store.commitAttempt(ours, world.attempt(proofs, { nonce: 0 })),
      other.commitAttempt(theirs, world.attempt(reversed, { nonce: 0 })),
    ]);

    const lost = results.filter((result) => result.status === 'rejected');
    expect(lost).toMatchObject([{ reason: failsWith('not_queued') }]);
  });

  it('wakes a waiting instance when another queues a proof', async () => {
    const task = await world.task(robotId);
    const woken = other.waitForQueuedProof(new AbortController().signal);

    await world.store.queueCompletion(world.completion(task));

    await woken;
    expect(await other.listQueuedProofs(theirs, 1)).toMatchObject([{ taskId: task.id }]);
  });

  it('wakes no instance for a proof offered to another sender until it is free', async () => {
    await world.queued(robotId, 1);
    await world.store.listQueuedProofs(ours, 1);
    let isWoken = false;
    const woken = other.waitForQueuedProof(new AbortController().signal).then(() => {
      isWoken = true;
    });

    // It has had its first look when others were answered after it.
    for (let i = 0; i < 5; i += 1) await other.getChainStatus();
    expect(isWoken).toBe(false);
    world.clock.advance(15_000);

    await woken;
  });
});

describe('several instances at once', () => {
  it('share one queue, with each proof in one attempt', async () => {
    const tasks = await world.queued(robotId, 40);

    const work = async (store: Store, lease: Lease, from: number) => {
      for (let nonce = from; ; nonce += 1) {
        const proofs = await store.listQueuedProofs(lease, 3);
        if (proofs.length === 0) return;
        await store.commitAttempt(lease, world.attempt(proofs, { nonce }));
      }
    };
    await Promise.all([work(world.store, ours, 0), work(other, theirs, 0)]);

    const open = [
      ...(await world.store.listOpenAttempts(ours)),
      ...(await other.listOpenAttempts(theirs)),
    ];
    expect(open.reduce((sum, { unsettledLeaves }) => sum + unsettledLeaves, 0)).toBe(tasks.length);
  });

  it('settle for one account, and charge each leaf once', async () => {
    const before = await world.store.getBalance(wallet);
    await world.queued(robotId, 40);
    const first = await world.included(ours, 20);
    const second = await world.included(theirs, 20);

    const settle = async (store: Store, lease: Lease, id: string) => {
      while ((await store.settleLeaves(lease, id, 3, world.now)) > 0);
    };
    await Promise.all([settle(world.store, ours, first.id), settle(other, theirs, second.id)]);

    const after = await world.store.getBalance(wallet);
    const cost = 2n * (22_280n * 11n + 3n);
    expect(after?.anchorQuota).toBe((before?.anchorQuota ?? 0) - 40);
    expect(after?.gasCreditWei).toBe((before?.gasCreditWei ?? 0n) - cost);
  });

  it('sign and settle while the robot is deleted, without loss or double charge', async () => {
    await world.queued(robotId, 30);
    const mined = await world.included(ours, 10);
    const signed = await world.committed(ours, 10);
    const proofs = await other.listQueuedProofs(theirs, 10);
    expect(proofs).toHaveLength(10);

    const settle = async () => {
      while ((await world.store.settleLeaves(ours, mined.id, 2, world.now)) > 0);
    };
    const [settled, ended, died, deleted] = await Promise.allSettled([
      settle(),
      other.commitAttempt(theirs, world.attempt(proofs, { nonce: 0 })),
      world.store.recordReplacedNonce(ours, signed.id, world.now),
      other.deleteRobot(robotId, wallet, world.now),
    ]);

    expect([settled, died, deleted]).toMatchObject(Array(3).fill({ status: 'fulfilled' }));
    if (ended.status === 'rejected') expect(ended.reason).toMatchObject(failsWith('not_queued'));
    // Those of the replaced nonce and, if their batch was refused, the others: of each the leaf.
    const queued = await world.store.listQueuedProofs(ours, 100);
    const refused = ended.status === 'rejected' ? proofs : [];
    expect(queued.map(({ taskId }) => taskId).toSorted()).toEqual(
      [...signed.leaves, ...refused].map(({ taskId }) => taskId).toSorted(),
    );
    expect(queued.every(({ leaf, proofHash }) => leaf === proofHash)).toBe(true);
  });
});
