import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { failsWith, newWallet, type OpenStore, World } from './world.ts';

export function creditContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  const newGrant = () => ({
    id: uuid(),
    wallet: newWallet(),
    anchors: 5,
    gasWei: 10n ** 30n,
    note: 'prepaid',
    now: world.now,
  });

  it('opens the account that a grant is for', async () => {
    const grant = newGrant();
    expect(await world.store.getBalance(grant.wallet)).toBeNull();

    const granted = await world.store.grantCredits(grant);

    const balance = { wallet: grant.wallet, anchorQuota: 5, gasCreditWei: 10n ** 30n };
    expect(granted).toEqual({ outcome: 'granted', balance });
    expect(await world.store.getBalance(grant.wallet)).toEqual(balance);
  });

  it('adds one grant to another', async () => {
    const grant = newGrant();
    await world.store.grantCredits(grant);

    const { balance } = await world.store.grantCredits({ ...grant, id: uuid(), gasWei: 1n });

    expect(balance).toMatchObject({ anchorQuota: 10, gasCreditWei: 10n ** 30n + 1n });
    expect(await world.store.checkInvariants()).toEqual([]);
  });

  it('makes a repeated grant harmless, concurrent or later', async () => {
    const grant = newGrant();

    const results = await Promise.all(
      Array.from({ length: 10 }, () => world.store.grantCredits(grant)),
    );
    const later = await world.store.grantCredits({ ...grant, now: world.now + 1 });

    expect(results.filter(({ outcome }) => outcome === 'granted')).toHaveLength(1);
    expect(later).toMatchObject({ outcome: 'repeated', balance: { anchorQuota: 5 } });
  });

  it.each([{ wallet: newWallet() }, { anchors: 6 }, { gasWei: 1n }, { note: 'other' }])(
    'rejects with id_conflict when the id repeats with other content (%#)',
    async (change) => {
      const grant = newGrant();
      await world.store.grantCredits(grant);

      await expect(world.store.grantCredits({ ...grant, ...change })).rejects.toMatchObject(
        failsWith('id_conflict'),
      );
      expect(await world.store.getBalance(grant.wallet)).toMatchObject({ anchorQuota: 5 });
    },
  );

  it.each([
    { anchors: -1 },
    { anchors: 0.5 },
    { gasWei: -1n },
    { anchors: Number.MAX_SAFE_INTEGER },
  ])('refuses a grant that no balance can hold (%#)', async (change) => {
    const grant = newGrant();
    await world.store.grantCredits(grant);

    const wrong = { ...grant, id: uuid(), ...change };

    await expect(world.store.grantCredits(wrong)).rejects.toMatchObject(
      failsWith('invalid_request'),
    );
    expect(await world.store.checkInvariants()).toEqual([]);
  });
}
