import { afterEach, beforeEach, expect, it } from 'vitest';
import { chainId, newWallet, type OpenStore, World } from './world.ts';

export function anchoringAccountContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  const signature = `0x${'ab'.repeat(65)}` as const;
  const signed = { origin: 'https://svc.test', signature, promiseKey: null };
  const list = () => world.store.listAnchoringAccounts();
  const add = async (address = newWallet(), firstBlock = 3n) => {
    await world.store.addAnchoringAccount({ chainId, address, firstBlock, ...signed });
  };

  it('starts with an empty list', async () => {
    expect(await list()).toEqual([]);
  });

  it('lists each account once, with the number of the list that added it', async () => {
    const [first, second] = [newWallet(), newWallet()];
    await add(first, 4n);
    await add(first, 9n);
    const unsigned = {
      ...{ chainId, address: second, firstBlock: 3n },
      ...{ signature: null, origin: null, promiseKey: null },
    };
    await world.store.addAnchoringAccount(unsigned);
    await world.reopen();

    expect(await list()).toEqual([
      { ...unsigned, lastBlock: null, endsElsewhere: false, changedIn: 2 },
      {
        chainId,
        address: first,
        firstBlock: 4n,
        ...signed,
        endsElsewhere: false,
        lastBlock: null,
        changedIn: 1,
      },
    ]);
  });

  it('gives simultaneous changes different numbers', async () => {
    await Promise.all(Array.from({ length: 5 }, () => add()));

    const numbers = (await list()).map(({ changedIn }) => changedIn);
    expect(numbers.sort()).toEqual([1, 2, 3, 4, 5]);
  });

  it('retires an account at the block of its last final anchor, once', async () => {
    const robot = await world.robot();
    const lease = await world.lease();
    await add(lease.sender);
    await world.queued(robot.id, 1);
    const { id } = await world.settled(lease);
    const changes = { safe: [], finalized: [id], reorged: [] };
    await world.store.recordInclusionChanges(lease, changes, world.now);

    await world.store.retireAnchoringAccount(lease, 4n);
    await world.store.retireAnchoringAccount(lease, 9n);

    expect(await list()).toMatchObject([{ lastBlock: 5n, changedIn: 2 }]);
    expect(await world.store.checkInvariants()).toEqual([]);
  });

  it('retires an account that never anchored at its first block', async () => {
    const lease = await world.lease();
    await add(lease.sender, 7n);
    await add();

    await world.store.retireAnchoringAccount(lease);

    expect(await list()).toMatchObject([{ lastBlock: null }, { lastBlock: 7n, changedIn: 3 }]);
  });

  it('retires an account whose last nonce was used elsewhere at a given block', async () => {
    const robot = await world.robot();
    const lease = await world.lease();
    await add(lease.sender);
    await world.queued(robot.id, 1);
    const { id } = await world.settled(lease);
    const changes = { safe: [], finalized: [id], reorged: [] };
    await world.store.recordInclusionChanges(lease, changes, world.now);
    expect(await list()).toMatchObject([{ endsElsewhere: false }]);
    const sender = { chainId: lease.chainId, address: lease.sender };
    const nonce = (await world.store.getNextNonce(lease)) ?? 0;
    const uses = [{ nonce, txHash: `0x${'12'.repeat(32)}` as const }];
    await world.store.recordForeignNonces(sender, uses, world.now);
    expect(await list()).toMatchObject([{ endsElsewhere: true }]);

    await world.store.retireAnchoringAccount(lease, 9n);

    expect(await list()).toMatchObject([{ lastBlock: 9n, changedIn: 2 }]);
    expect(await world.store.checkInvariants()).toEqual([]);
  });

  it('retires no account without its lease', async () => {
    const lease = await world.lease();
    await add(lease.sender);
    await world.store.releaseLease(lease);

    await expect(world.store.retireAnchoringAccount(lease)).rejects.toMatchObject({
      code: 'lease_lost',
    });
    expect(await list()).toMatchObject([{ lastBlock: null }]);
  });

  it('reports an anchor after the last block as a violation', async () => {
    const robot = await world.robot();
    const lease = await world.lease();
    await add(lease.sender);
    await world.store.retireAnchoringAccount(lease);
    await world.queued(robot.id, 1);
    await world.settled(lease);

    expect(await world.store.checkInvariants()).toMatchObject([
      { invariant: 'anchors_end_at_the_last_block' },
    ]);
  });
}
