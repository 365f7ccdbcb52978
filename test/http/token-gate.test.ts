import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newWallet, startTestService, type TestService } from '../support/service.ts';
import type { Reply } from '../support/wire.ts';

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
    tokenAddress = token,
  ): Promise<Reply & { wallet: string }> {
    service.settings.gate = { token: tokenAddress, minBalance };
    service.settings.signup = { mode, anchors: 3, gasWei: 7n };
    const account = newWallet();
    const { address } = account;
    const asked = await service.call('POST', '/api/auth/challenge', { body: { address } });
    const signature = await account.signMessage({ message: asked.body.message });
    const body = { address, signature };
    return { ...(await service.call('POST', '/api/auth/verify', { body })), wallet: address };
  }

  it('holds at exactly the least balance, and the signup grant is given', async () => {
    const reply = await signInWith(5n, 'gate');

    expect(reply.body.gate).toEqual({ holds: true });
    expect(await service.store.getBalance(reply.wallet)).toMatchObject({
      anchorQuota: 3,
      gasCreditWei: 7n,
    });
  });

  it('only reports where signup is open, but gives no grant', async () => {
    const reply = await signInWith(6n, 'open');

    expect(reply.body).toMatchObject({ signed_in: true, gate: { holds: false } });
    expect(await service.store.getBalance(reply.wallet)).toMatchObject({
      anchorQuota: 0,
      gasCreditWei: 0n,
    });
  });

  it('refuses a new account below the least balance where signup asks for it', async () => {
    const reply = await signInWith(6n, 'gate');

    expect(reply.status).toBe(403);
    expect(reply.body.error).toBe('signup_refused');
    expect(await service.store.getBalance(reply.wallet)).toBeNull();
  });

  it('does not hold where the balance cannot be read, and sign-in still works', async () => {
    const noToken = '0x00000000000000000000000000000000000000bb';

    const reply = await signInWith(1n, 'open', noToken);

    expect(reply.body).toMatchObject({ signed_in: true, gate: { holds: false } });
  });
});
