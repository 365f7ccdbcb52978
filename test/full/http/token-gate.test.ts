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
});
