import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lease } from '../../src/server/ports/anchoring.ts';
import { FOLLOWER } from '../../src/server/rules/anchoring.ts';
import {
  chainId,
  failsWith,
  leaseMs,
  newWallet,
  type OpenStore,
  randomHash,
  World,
} from './world.ts';

export function leaseContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  const acquire = (address: string, holder: string) =>
    world.store.acquireLease({ chainId, address }, holder, leaseMs, world.now);

  it('goes to one holder at a time', async () => {
    const address = newWallet();

    const results = await Promise.all(
      ['a', 'b', 'c', 'd'].map((holder) => acquire(address, holder)),
    );

    expect(results.filter((lease) => lease !== null)).toHaveLength(1);
    expect(await acquire(newWallet(), 'b')).not.toBeNull();
  });

  it('goes to another with a new fence when it has run out', async () => {
    const address = newWallet();
    const first = await acquire(address, 'a');
    world.clock.advance(leaseMs - 1);
    expect(await acquire(address, 'b')).toBeNull();

    world.clock.advance(1);
    const second = await acquire(address, 'b');

    expect(second?.fence).toBeGreaterThan(first?.fence ?? 0);
    expect(second).toMatchObject({ chainId, sender: address, holder: 'b' });
  });

  it('stays with a holder that renews it', async () => {
    const address = newWallet();
    const lease = await world.lease(address, 'a');
    world.clock.advance(leaseMs - 1);

    await world.store.renewLease(lease, leaseMs, world.now);
    world.clock.advance(leaseMs - 1);

    expect(await acquire(address, 'b')).toBeNull();
    expect(await acquire(address, 'a')).toEqual(lease);
  });

  it('passes immediately from a follower to a holder with the key, and not the other way', async () => {
    const address = newWallet();
    const followed = await world.lease(address, `${FOLLOWER}a`);
    expect(await acquire(address, `${FOLLOWER}b`)).toBeNull();

    const taken = await acquire(address, 'b');

    expect(taken?.fence).toBeGreaterThan(followed.fence);
    await expect(world.store.renewLease(followed, leaseMs, world.now)).rejects.toMatchObject(
      failsWith('lease_lost'),
    );
    expect(await acquire(address, `${FOLLOWER}a`)).toBeNull();
  });

  it('is free as soon as it is released, and is acquired with a new fence', async () => {
    const address = newWallet();
    const lease = await world.lease(address, 'a');

    await world.store.releaseLease(lease);
    const again = await acquire(address, 'a');

    expect(again?.fence).toBeGreaterThan(lease.fence);
  });

  it('keeps its address in the list of anchoring accounts', async () => {
    const [first, second] = [newWallet(), newWallet()];
    await world.store.releaseLease(await world.lease(first));
    await world.lease(second);

    expect((await world.store.listAnchorAddresses()).sort()).toEqual([first, second].sort());
  });

  describe('that is lost', () => {
    function everyCallWith(lease: Lease) {
      const { store, now } = world;
      const nothing = { safe: [], finalized: [], reorged: [] };
      const attempt = world.attempt([
        { taskId: 'none', proofHash: randomHash(), leaf: randomHash(), generation: 0 },
      ]);
      return {
        renewLease: store.renewLease(lease, leaseMs, now),
        releaseLease: store.releaseLease(lease),
        saveChainStatus: store.saveChainStatus(lease, { degraded: ['x'], parked: 0, now }),
        getNextNonce: store.getNextNonce(lease),
        listQueuedProofs: store.listQueuedProofs(lease, 1),
        commitAttempt: store.commitAttempt(lease, attempt),
        recordBroadcast: store.recordBroadcast(lease, attempt.id, now),
        addVariant: store.addVariant(lease, attempt.id, attempt.variant, randomHash(), now),
        adoptVariant: store.adoptVariant(lease, attempt.id, attempt.variant, now),
        recordInclusion: store.recordInclusion(lease, attempt.id, world.mined(attempt), now),
        settleLeaves: store.settleLeaves(lease, attempt.id, 1, now),
        failQueuedProofs: store.failQueuedProofs(lease, [], 'x', now),
        listOpenAttempts: store.listOpenAttempts(lease),
        listIncludedAttempts: store.listIncludedAttempts(lease, 1),
        listIncludedBelow: store.listIncludedBelow(lease, { blockNumber: 9n, id: '' }, 1),
        listMinedFrom: store.listMinedFrom(lease, 0, 1),
        isUsedElsewhere: store.isUsedElsewhere(lease, 0),
        recordInclusionChanges: store.recordInclusionChanges(lease, nothing, now),
        recordReplacedNonce: store.recordReplacedNonce(lease, attempt.id, now),
      };
    }

    async function expectAllRejected(lease: Lease) {
      const calls = Object.entries(everyCallWith(lease));
      const results = await Promise.allSettled(calls.map(([, call]) => call));
      expect(calls.map(([method], i) => [method, results[i]])).toMatchObject(
        calls.map(([method]) => [method, { status: 'rejected', reason: failsWith('lease_lost') }]),
      );
      expect(await world.store.getChainStatus()).toMatchObject({ degraded: [] });
    }

    it('rejects every call after it has expired', async () => {
      const lease = await world.lease();
      world.clock.advance(leaseMs);

      await expectAllRejected(lease);
    });

    it('rejects every call of the previous holder', async () => {
      const address = newWallet();
      const lost = await world.lease(address, 'a');
      world.clock.advance(leaseMs);
      const lease = await world.lease(address, 'b');

      await expectAllRejected(lost);

      await world.store.renewLease(lease, leaseMs, world.now);
    });

    it('rejects an old fence of the same holder', async () => {
      const address = newWallet();
      const old = await world.lease(address, 'a');
      await world.store.releaseLease(old);
      await world.lease(address, 'a');

      await expectAllRejected(old);
    });
  });
}
