import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestClock } from '../../support/clock.ts';
import { newWallet, startTestService, type TestService } from '../../support/service.ts';
import { signupGrant } from '../../support/signup-grant.ts';
import type { Reply } from '../../support/wire.ts';

const DAY_MS = 24 * 60 * 60_000;

describe('the token gate', () => {
  /** Answers 5 to every call, so to balanceOf as well. */
  const FIVE_FOR_ALL = '0x60055f5260205ff3';
  const token = '0x00000000000000000000000000000000000000aa';
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ chain: 'mining' });
    await service.rpc('anvil_setCode', [token, FIVE_FOR_ALL]);
  });
  afterAll(() => service.close());

  async function signInWith(
    minBalance: bigint,
    mode: 'open' | 'gate',
    { tokenAddress = token, account = newWallet(), limits = {}, at = service } = {},
  ): Promise<Reply & { wallet: string }> {
    at.settings.gate = { token: tokenAddress, minBalance };
    at.settings.signup = { mode, ...signupGrant(3, 7n), ...limits };
    const { address } = account;
    const asked = await at.call('POST', '/api/auth/challenge', { body: { address } });
    const signature = await account.signMessage({ message: asked.body.message });
    const body = { address, signature };
    return { ...(await at.call('POST', '/api/auth/verify', { body })), wallet: address };
  }

  it('is met at exactly the minimum balance, and the signup grant is given', async () => {
    const reply = await signInWith(5n, 'gate');

    expect(reply.body.gate).toEqual({ holds: true });
    expect(await service.store.getBalance(reply.wallet)).toMatchObject({
      anchorQuota: 3,
      gasCreditWei: 7n,
    });
  });

  it('only reports if signup is open, but gives no grant', async () => {
    const reply = await signInWith(6n, 'open');

    expect(reply.body).toMatchObject({ signed_in: true, gate: { holds: false } });
    expect(await service.store.getBalance(reply.wallet)).toMatchObject({
      anchorQuota: 0,
      gasCreditWei: 0n,
    });
  });

  it('refuses a new account below the minimum balance if signup requires it', async () => {
    const reply = await signInWith(6n, 'gate');

    expect(reply.status).toBe(403);
    expect(reply.body.error).toBe('signup_refused');
    expect(await service.store.getBalance(reply.wallet)).toBeNull();
  });

  it('grants little to one token that moves through 8 wallets, with delay and daily budget', async () => {
    const clock = createTestClock();
    const own = await startTestService({ chain: 'mining', clock });
    await own.rpc('anvil_setCode', [token, FIVE_FOR_ALL]);
    const wallets = Array.from({ length: 8 }, newWallet);
    const limits = { delayMs: DAY_MS, anchorsPerDay: 7 };
    const grantsAfter = async (waitMs: number) => {
      clock.advance(waitMs);
      for (const account of wallets) await signInWith(5n, 'open', { account, limits, at: own });
      const balances = await Promise.all(
        wallets.map(({ address }) => own.store.getBalance(address)),
      );
      return balances.reduce((sum, balance) => sum + (balance?.anchorQuota ?? 0), 0);
    };

    // At first the delay, then the budget of 7 anchors a day: two grants of 3.
    expect(await grantsAfter(0)).toBe(0);
    expect(await grantsAfter(DAY_MS - 1)).toBe(0);
    expect(await grantsAfter(1)).toBe(6);
    expect(await grantsAfter(DAY_MS - 1)).toBe(6);
    expect(await grantsAfter(1)).toBe(12);
    await own.close();
  });

  describe('if the balance cannot be read', () => {
    const unreadable = { tokenAddress: '0x00000000000000000000000000000000000000bb' };

    it('is not met, and sign-in still works', async () => {
      const reply = await signInWith(1n, 'open', unreadable);

      expect(reply.body).toMatchObject({ signed_in: true, gate: { holds: false } });
    });

    it('loses no grant: it is made at the first sign-in with the token', async () => {
      const account = newWallet();
      await signInWith(1n, 'open', { ...unreadable, account });
      expect(await service.store.getBalance(account.address)).toMatchObject({ anchorQuota: 0 });

      await signInWith(1n, 'open', { account });

      expect(await service.store.getBalance(account.address)).toMatchObject({ anchorQuota: 3 });
    });

    it('asks to retry instead of refusing a new account if signup requires the token', async () => {
      const account = newWallet();

      const reply = await signInWith(1n, 'gate', { ...unreadable, account });
      const retried = await signInWith(1n, 'gate', { account });

      expect(reply.status).toBe(503);
      expect(reply.body.error).toBe('chain_unavailable');
      expect(retried.body.gate).toEqual({ holds: true });
    });

    it('signs in an existing account', async () => {
      const account = newWallet();
      await signInWith(1n, 'gate', { account });

      const reply = await signInWith(1n, 'gate', { ...unreadable, account });

      expect(reply.status).toBe(200);
    });
  });

  it('signs in an existing account with any balance', async () => {
    const account = newWallet();
    await signInWith(5n, 'gate', { account });

    const reply = await signInWith(6n, 'gate', { account });

    expect(reply.body).toMatchObject({ signed_in: true, gate: { holds: false } });
  });
});
