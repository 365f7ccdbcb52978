import { afterEach, beforeEach, expect, it } from 'vitest';
import { chainId, newWallet, type OpenStore, World } from './world.ts';

export function anchoringAccountContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  const signature = `0x${'ab'.repeat(65)}` as const;
  const statement = { origin: 'https://svc.test', signature };
  const list = () => world.store.listAnchoringAccounts();
  const add = async (address = newWallet(), firstBlock = 3n) => {
    await world.store.addAnchoringAccount({ chainId, address, firstBlock, statement });
    return { chainId, address };
  };

  it('starts with an empty list', async () => {
    expect(await list()).toEqual({ sequence: 0, accounts: [] });
  });

  it('lists each account once, and counts the changes', async () => {
    const first = await add(newWallet(), 3n);
    await add(first.address, 9n);
    const second = { chainId, address: newWallet(), firstBlock: 4n, statement: null };
    await world.store.addAnchoringAccount(second);
    await world.reopen();

    expect(await list()).toEqual({
      sequence: 2,
      accounts: [
        { ...first, firstBlock: 3n, lastBlock: null, statement, listSignature: null },
        { ...second, lastBlock: null, listSignature: null },
      ],
    });
  });

  it('gives changes that are made at the same time different numbers', async () => {
    await Promise.all(Array.from({ length: 5 }, () => add()));

    expect((await list()).sequence).toBe(5);
  });

  it('keeps the newest signature of the list by each account', async () => {
    const sender = await add();
    const signed = { ...statement, sequence: 1 };
    await world.store.saveListSignature(sender, { ...signed, origin: 'http://before.test' });
    await world.store.saveListSignature(sender, signed);

    expect(await list()).toMatchObject({ sequence: 1, accounts: [{ listSignature: signed }] });
  });

  it('retires an account at the block of its last anchor, once', async () => {
    const robot = await world.robot();
    const lease = await world.lease();
    const sender = await add(lease.sender);
    await world.queued(robot.id, 1);
    const { id } = await world.settled(lease);
    const changes = { safe: [], finalized: [id], reorged: [] };
    await world.store.recordInclusionChanges(lease, changes, world.now);
    await world.store.releaseLease(lease);

    const retired = await world.store.retireAnchoringAccount(sender, world.now);
    const again = await world.store.retireAnchoringAccount(sender, world.now);

    expect([retired, again]).toEqual(Array(2).fill({ outcome: 'retired', lastBlock: 5n }));
    expect(await list()).toMatchObject({ sequence: 2, accounts: [{ lastBlock: 5n }] });
    expect(await world.store.checkInvariants()).toEqual([]);
  });

  it('retires an account that never anchored at its first block', async () => {
    const sender = await add(newWallet(), 7n);

    expect(await world.store.retireAnchoringAccount(sender, world.now)).toEqual({
      outcome: 'retired',
      lastBlock: 7n,
    });
  });

  it('retires no account that is unknown, in use, or has an anchor that is not final', async () => {
    const retire = async (sender: { chainId: number; address: string }) =>
      (await world.store.retireAnchoringAccount(sender, world.now)).outcome;
    const robot = await world.robot();
    const lease = await world.lease();
    const sender = await add(lease.sender);

    expect(await retire({ chainId, address: newWallet() })).toBe('unknown');
    expect(await retire(sender)).toBe('in_use');
    await world.queued(robot.id, 1);
    await world.settled(lease);
    await world.store.releaseLease(lease);
    expect(await retire(sender)).toBe('not_final');
    expect((await list()).sequence).toBe(1);
  });

  it('reports an anchor after the last block as a violation', async () => {
    const robot = await world.robot();
    const lease = await world.lease();
    const sender = await add(lease.sender);
    await world.store.releaseLease(lease);
    await world.store.retireAnchoringAccount(sender, world.now);
    await world.queued(robot.id, 1);
    await world.settled(await world.regained(lease));

    expect(await world.store.checkInvariants()).toMatchObject([
      { invariant: 'anchors_end_at_the_last_block' },
    ]);
  });
}
