import { afterEach, beforeEach, expect, it } from 'vitest';
import { type OpenStore, World } from './world.ts';

export function checkedTimeContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  const by = { actor: 'operator', actor_name: 'test', source: null, at: 0 } as const;
  const save = (checkedAt: number, confirmations = 0) =>
    world.store.saveCheckedTime({ checkedAt, confirmations });

  it('has no accepted time at first', async () => {
    expect(await world.store.readCheckedTime()).toBeNull();
  });

  it('keeps the accepted time that was saved last, even an earlier one', async () => {
    await save(2000);
    await save(1000);

    await world.reopen();

    expect(await world.store.readCheckedTime()).toEqual({ checkedAt: 1000, confirmations: 0 });
  });

  it('keeps a confirmed time from an instance that has not seen the confirmation', async () => {
    await save(1000);
    await world.store.confirmTime(5000, by);

    await save(1001, 0);
    expect(await world.store.readCheckedTime()).toEqual({ checkedAt: 5000, confirmations: 1 });

    await save(5001, 1);
    expect(await world.store.readCheckedTime()).toEqual({ checkedAt: 5001, confirmations: 1 });
  });

  it('records a confirmation in the audit log of each account', async () => {
    const wallets = [await world.account(), await world.account()];

    await world.store.confirmTime(5000, by);

    for (const wallet of wallets) {
      expect(await world.store.listAuditLog(wallet, 1, null)).toMatchObject([
        { kind: 'clock_confirmed', detail: '1970-01-01T00:00:05.000Z', ...by },
      ]);
    }
  });
}
