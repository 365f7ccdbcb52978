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

  it('ignores a repeated grant, concurrent or later', async () => {
    const grant = newGrant();

    const results = await Promise.all(
      Array.from({ length: 10 }, () => world.store.grantCredits(grant)),
    );
    const later = await world.store.grantCredits({ ...grant, now: world.now + 1 });

    expect(results.filter(({ outcome }) => outcome === 'granted')).toHaveLength(1);
    expect(later).toMatchObject({ outcome: 'repeated', balance: { anchorQuota: 5 } });
  });

  it.each([{ wallet: newWallet() }, { anchors: 6 }, { gasWei: 1n }, { note: 'other' }])(
    'rejects with id_conflict if the id repeats with other content (%#)',
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

  it('takes credits back with an entry in the ledger and in the audit log', async () => {
    const grant = newGrant();
    await world.store.grantCredits(grant);
    const revocation = { ...grant, id: uuid(), anchors: 2, gasWei: 10n ** 30n, note: 'refunded' };
    const by = { actor: 'operator', actor_name: 'me', source: null, at: world.now } as const;

    const revoked = await world.store.revokeCredits(revocation, by);

    const balance = { wallet: grant.wallet, anchorQuota: 3, gasCreditWei: 0n };
    expect(revoked).toEqual({ outcome: 'revoked', balance });
    expect(await world.store.getBalance(grant.wallet)).toEqual(balance);
    const [entry] = await world.store.listLedger({ wallet: grant.wallet, taskId: null }, 1, null);
    const { id: grantId, note } = revocation;
    const expected = { kind: 'revoke', anchors: -2, gasWei: -(10n ** 30n), grantId, note };
    expect(entry).toMatchObject(expected);
    const [audited] = await world.store.listAuditLog(grant.wallet, 1, null);
    const detail = `2 anchors, ${10n ** 30n} wei: refunded`;
    expect(audited).toMatchObject({ kind: 'credits_revoked', detail });
    expect(await world.store.checkInvariants()).toEqual([]);
  });

  it('ignores a repeated revocation, concurrent or later, but not the id of a grant', async () => {
    const grant = newGrant();
    await world.store.grantCredits(grant);
    const revocation = { ...grant, id: uuid(), anchors: 2 };

    const results = await Promise.all(
      Array.from({ length: 10 }, () => world.store.revokeCredits(revocation)),
    );
    const later = await world.store.revokeCredits({ ...revocation, now: world.now + 1 });

    expect(results.filter(({ outcome }) => outcome === 'revoked')).toHaveLength(1);
    expect(later).toMatchObject({ outcome: 'repeated', balance: { anchorQuota: 3 } });
    for (const conflict of [
      () => world.store.revokeCredits({ ...revocation, anchors: 1 }),
      () => world.store.revokeCredits(grant),
      () => world.store.grantCredits(revocation),
    ]) {
      await expect(conflict()).rejects.toMatchObject(failsWith('id_conflict'));
    }
  });

  it.each([
    { anchors: 6, gasWei: 0n },
    { anchors: 0, gasWei: 10n ** 30n + 1n },
    { anchors: 5, gasWei: 10n ** 31n },
    { anchors: -1 },
    { anchors: 0.5 },
    { gasWei: -1n },
  ])('revokes nothing if the amount is not in the balance (%#)', async (change) => {
    const grant = newGrant();
    const { balance } = await world.store.grantCredits(grant);

    const wrong = { ...grant, id: uuid(), ...change };

    await expect(world.store.revokeCredits(wrong)).rejects.toMatchObject(
      failsWith('invalid_request'),
    );
    expect(await world.store.getBalance(grant.wallet)).toEqual(balance);
    expect(
      await world.store.listLedger({ wallet: grant.wallet, taskId: null }, 10, null),
    ).toHaveLength(1);
  });

  it('leaves reserved credits, and limits concurrent revocations to the balance', async () => {
    await world.lease();
    const wallet = await world.account(5, 10n ** 9n);
    await world.queued((await world.robot(wallet)).id, 1);
    const all = { ...newGrant(), wallet, anchors: 5, gasWei: 0n };
    await expect(world.store.revokeCredits(all)).rejects.toMatchObject(
      failsWith('invalid_request'),
    );

    const ended = await Promise.allSettled(
      Array.from({ length: 6 }, () =>
        world.store.revokeCredits({ ...all, id: uuid(), anchors: 1 }),
      ),
    );

    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(4);
    expect(await world.store.getBalance(wallet)).toMatchObject({ anchorQuota: 0 });
    expect(await world.store.checkInvariants()).toEqual([]);
  });
}
