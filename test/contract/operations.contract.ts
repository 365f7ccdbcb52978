import { afterEach, beforeEach, expect, it } from 'vitest';
import { chainId, leaseMs, newWallet, type OpenStore, randomHash, World } from './world.ts';

export function operationsContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  const senderOf = (address: string) => ({ chainId, address });
  const acquire = (address: string) =>
    world.store.acquireLease(senderOf(address), 'a', leaseMs, world.now);
  const reasons = async () => (await world.store.getChainStatus())?.degraded;

  it('grants no lease while the queue is held', async () => {
    const address = newWallet();
    const lease = await acquire(address);
    await world.store.holdQueue(world.now);

    expect(await acquire(address)).toBeNull();
    expect(await acquire(newWallet())).toBeNull();
    if (lease === null) throw new Error('There was no lease to end');
    await expect(world.store.renewLease(lease, leaseMs, world.now)).rejects.toMatchObject({
      code: 'lease_lost',
    });
    expect(await reasons()).toEqual(['restored']);
  });

  it('stays held when the store is opened again', async () => {
    await world.store.holdQueue(world.now);

    await world.reopen();

    expect(await acquire(newWallet())).toBeNull();
  });

  it('grants leases again to the senders for which the hold is lifted', async () => {
    const address = newWallet();
    await world.store.holdQueue(world.now);

    await world.store.liftHold([senderOf(address)], world.now);
    await world.store.liftHold([senderOf(address)], world.now);

    expect(await reasons()).toEqual([]);
    expect(await acquire(address)).not.toBeNull();
  });

  it('keeps holding every other sender, and reports that', async () => {
    const other = newWallet();
    await world.store.holdQueue(world.now);
    await world.store.liftHold([senderOf(newWallet())], world.now);

    expect(await acquire(other)).toBeNull();

    expect(await reasons()).toEqual(['key_not_reconciled']);
  });

  it('keeps holding an account on the chains where it was not reconciled', async () => {
    const address = newWallet();
    await world.store.holdQueue(world.now);
    await world.store.liftHold([senderOf(address)], world.now);

    const elsewhere = { chainId: chainId + 1, address };

    expect(await world.store.acquireLease(elsewhere, 'a', leaseMs, world.now)).toBeNull();
  });

  it('holds every sender again after the next restore', async () => {
    const address = newWallet();
    await world.store.holdQueue(world.now);
    await world.store.liftHold([senderOf(address)], world.now);

    await world.store.holdQueue(world.now);

    expect(await acquire(address)).toBeNull();
  });

  it('continues with the nonce after those that were used elsewhere', async () => {
    const lease = await world.lease();
    const robot = await world.robot();
    await world.queued(robot.id, 2);
    const { nonce } = await world.committed(lease, 1);
    const sender = senderOf(lease.sender);
    const uses = [nonce + 1, nonce + 2].map((one) => ({ nonce: one, txHash: randomHash() }));

    await world.store.recordForeignNonces(sender, uses, world.now);
    await world.reopen();

    const again = await world.regained(lease);
    expect(await world.store.getNextNonce(again)).toBe(nonce + 3);
    await world.committed(again, 1);
    expect(await world.store.checkInvariants()).toEqual([]);
  });

  it('records no foreign nonce that is its own or leaves a gap', async () => {
    const lease = await world.lease();
    const robot = await world.robot();
    await world.queued(robot.id, 1);
    const { nonce } = await world.committed(lease, 1);

    for (const wrong of [nonce, nonce + 2]) {
      const uses = [{ nonce: wrong, txHash: randomHash() }];
      await expect(
        world.store.recordForeignNonces(senderOf(lease.sender), uses, world.now),
      ).rejects.toMatchObject({ code: 'nonce_conflict' });
    }

    expect(await world.store.getNextNonce(lease)).toBe(nonce + 1);
  });

  it('records which transaction used the nonce of an open attempt, and of no other', async () => {
    const lease = await world.lease();
    const robot = await world.robot();
    await world.queued(robot.id, 1);
    const { id, nonce } = await world.committed(lease, 1);
    const sender = senderOf(lease.sender);
    const txHash = randomHash();
    const by = { actor: 'operator', actor_name: 'reconcile', source: null, at: world.now } as const;

    await world.store.recordTakenNonces(sender, [{ nonce, txHash }], world.now, by);
    await world.store.recordTakenNonces(sender, [{ nonce, txHash }], world.now);
    const beyond = [{ nonce: nonce + 1, txHash }];
    await expect(world.store.recordTakenNonces(sender, beyond, world.now)).rejects.toMatchObject({
      code: 'nonce_conflict',
    });

    const [attempt] = await world.store.listOpenAttempts(lease);
    expect(attempt).toMatchObject({ id, takenBy: txHash });
    const detail = `nonce ${nonce} of ${sender.address} was used by ${txHash}`;
    expect(await world.store.listAuditLog(robot.wallet, 10, null)).toMatchObject([
      { kind: 'anchor_reconciled', ...by, detail },
    ]);
    expect(await world.store.getNextNonce(lease)).toBe(nonce + 1);
    expect(await world.store.checkInvariants()).toEqual([]);
  });

  it('does not change the chain status if nothing is held', async () => {
    const lease = await world.lease(newWallet(), 'a');
    await world.store.saveChainStatus(lease, {
      degraded: ['underfunded'],
      parked: 0,
      now: world.now,
    });

    await world.store.liftHold([senderOf(newWallet())], world.now);

    expect(await reasons()).toEqual(['underfunded']);
    expect(await acquire(newWallet())).not.toBeNull();
  });

  it('counts anchors in progress, and since when', async () => {
    const robot = await world.robot(await world.account());
    expect(await world.store.readBacklog()).toEqual({
      queued: 0,
      oldestQueuedAt: null,
      submitted: 0,
      attempts: { signed: 0, submitted: 0, reorged: 0, included: 0 },
      oldestUnminedAt: null,
    });
    const lease = await world.lease();
    await world.queued(robot.id, 1);
    await world.settled(lease);
    const signedAt = world.now;
    await world.queued(robot.id, 2);
    await world.committed(lease);
    world.clock.advance(1_000);
    const since = world.now;
    await world.queued(robot.id, 1);

    expect(await world.store.readBacklog()).toEqual({
      queued: 1,
      oldestQueuedAt: since,
      submitted: 2,
      attempts: { signed: 1, submitted: 0, reorged: 0, included: 1 },
      oldestUnminedAt: signedAt,
    });
  });

  it('lists every sender with its next nonce and its open attempts', async () => {
    const robot = await world.robot(await world.account());
    const idle = await world.lease(newWallet());
    const lease = await world.lease(newWallet());
    await world.queued(robot.id, 1);
    const attempt = await world.committed(lease);

    const senders = await world.store.listSenders();

    expect(senders).toHaveLength(2);
    expect(senders).toContainEqual({
      chainId,
      address: idle.sender,
      nextNonce: null,
      openAttempts: [],
    });
    expect(senders).toContainEqual({
      chainId,
      address: lease.sender,
      nextNonce: attempt.nonce + 1,
      openAttempts: await world.store.listOpenAttempts(lease),
    });
  });

  it('reports room on the disk of a test', async () => {
    expect(await world.store.hasRoom()).toBe(true);
  });
}
