import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { createTestClock } from '../support/clock.ts';
import {
  cookieOf,
  newWallet,
  setCookieLine,
  startTestService,
  type TestService,
} from '../support/service.ts';
import type { Reply } from '../support/wire.ts';

/** The order of secp256k1: (r, n − s) signs the same message as (r, s). */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

describe('wallet sign-in', () => {
  const clock = createTestClock();
  let service: TestService;
  let owner: ReturnType<typeof newWallet>;

  beforeAll(async () => {
    service = await startTestService({ chain: 'mining', clock });
  });
  beforeEach(() => {
    owner = newWallet();
  });
  afterAll(() => service.close());

  const challenge = (address: string = owner.address, chainId?: number) =>
    service.call('POST', '/api/auth/challenge', {
      body: { address, ...(chainId !== undefined && { chainId }) },
    });
  const verify = (signature: string, options: { cookie?: string; address?: string } = {}) =>
    service.call('POST', '/api/auth/verify', {
      body: { address: options.address ?? owner.address, signature },
      ...(options.cookie !== undefined && { cookie: options.cookie }),
    });
  const sign = (reply: Reply) => owner.signMessage({ message: reply.body.message });
  const cookie = (reply: Reply) => `svc_challenge=${cookieOf(reply, 'svc_challenge')}`;

  describe('the challenge', () => {
    it('has the EIP-4361 layout, with the service as its domain', async () => {
      const { host, origin } = new URL(service.url);

      const reply = await challenge();

      const [nonce] = /(?<=Nonce: )\w+/.exec(reply.body.message) ?? [];
      expect(nonce).toMatch(/^[0-9a-f]{32}$/);
      expect(reply.body.message).toBe(
        [
          `${host} wants you to sign in with your Ethereum account:`,
          owner.address,
          '',
          'Sign in to the robot task proof service. This is free and sends no transaction.',
          '',
          `URI: ${origin}`,
          'Version: 1',
          'Chain ID: 31337',
          `Nonce: ${nonce}`,
          `Issued At: ${new Date(clock.now()).toISOString()}`,
          `Expiration Time: ${new Date(clock.now() + 600_000).toISOString()}`,
        ].join('\n'),
      );
    });

    it('takes domain and URI from the settings, whatever the Host header says', async () => {
      const reply = await service.call('POST', '/api/auth/challenge', {
        body: { address: owner.address },
        headers: { host: 'evil.test', 'x-forwarded-host': 'evil.test' },
      });

      expect(reply.body.message).not.toContain('evil.test');
    });

    it('puts a given chainId into the message', async () => {
      const reply = await challenge(owner.address, 8453);

      expect(reply.body.message).toContain('\nChain ID: 8453\n');
    });

    it('reads an address in any case and states it checksummed', async () => {
      const reply = await challenge(owner.address.toLowerCase());

      expect(reply.body.message).toContain(`\n${owner.address}\n`);
    });

    it.each([0, -1, 1.5, '1', null, 2 ** 53, true])('refuses chainId %j', async (chainId) => {
      const reply = await service.call('POST', '/api/auth/challenge', {
        body: { address: owner.address, chainId },
      });

      expect(reply.body.error).toBe('invalid_chain_id');
    });

    it.each([undefined, null, 7, '', '0x', `0x${'0'.repeat(39)}`, `0x${'g'.repeat(40)}`])(
      'refuses address %j',
      async (address) => {
        const reply = await service.call('POST', '/api/auth/challenge', { body: { address } });

        expect(reply.body.error).toBe('invalid_address');
      },
    );

    it('sets a cookie that scripts cannot read, for sign-in alone, for 10 minutes', async () => {
      const line = setCookieLine(await challenge(), 'svc_challenge');

      expect(line.split('; ').slice(1).sort()).toEqual([
        'HttpOnly',
        'Max-Age=600',
        'Path=/api/auth',
        'SameSite=Lax',
      ]);
    });
  });

  describe('a signed challenge', () => {
    it('opens a session, its cookie for 30 days and unreadable to scripts', async () => {
      const asked = await challenge();

      const reply = await verify(await sign(asked), { cookie: cookie(asked) });

      expect(reply.status).toBe(200);
      expect(reply.body).toEqual({ signed_in: true, wallet: owner.address, gate: { holds: true } });
      expect(setCookieLine(reply, 'svc_session').split('; ').slice(1).sort()).toEqual([
        'HttpOnly',
        'Max-Age=2592000',
        'Path=/',
        'SameSite=Lax',
      ]);
      expect(setCookieLine(reply, 'svc_challenge')).toContain('Max-Age=0');
    });

    it('signs in without the challenge cookie too', async () => {
      const reply = await verify(await sign(await challenge()));

      expect(reply.body.signed_in).toBe(true);
    });

    it('keeps the account of a wallet that signs in again', async () => {
      const first = await service.signIn(owner);
      const second = await service.signIn(owner);
      await service.makeRobot(first);

      const reply = await service.call('GET', '/api/v1/robots', { session: second.session });

      expect(reply.body.items).toHaveLength(1);
    });

    it('ends its session at sign-out, and sign-out without one is harmless', async () => {
      const { session } = await service.signIn(owner);

      const out = await service.call('POST', '/api/auth/logout', { session });
      const again = await service.call('POST', '/api/auth/logout');

      const use = await service.call('GET', '/api/v1/robots', { session });
      expect(out.body).toEqual({ signed_out: true });
      expect(again.body).toEqual({ signed_out: true });
      expect(use.body.error).toBe('invalid_session');
    });

    it('leaves neither token nor signature in the log', async () => {
      const asked = await challenge();
      const signature = await sign(asked);
      const reply = await verify(signature);

      const log = service.logLines.join('');
      expect(log).toContain('answered');
      expect(log).not.toContain(signature);
      expect(log).not.toContain(cookieOf(reply, 'svc_session'));
    });
  });

  describe('attacks', () => {
    it('refuses a replayed signature', async () => {
      const asked = await challenge();
      const signature = await sign(asked);
      await verify(signature, { cookie: cookie(asked) });

      const withCookie = await verify(signature, { cookie: cookie(asked) });
      const without = await verify(signature);

      expect(withCookie.body.error).toBe('invalid_signature');
      expect(without.body.error).toBe('invalid_signature');
    });

    it('lets one of many concurrent verifications of one signature through', async () => {
      const asked = await challenge();
      const signature = await sign(asked);

      const replies = await Promise.all(Array.from({ length: 20 }, () => verify(signature)));

      expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    });

    it("refuses another wallet's signature", async () => {
      const asked = await challenge();
      const signature = await newWallet().signMessage({ message: asked.body.message });

      const reply = await verify(signature, { cookie: cookie(asked) });

      expect(reply.status).toBe(401);
      expect(reply.body.error).toBe('invalid_signature');
    });

    it("refuses another wallet's challenge, even by its cookie", async () => {
      const other = newWallet();
      const asked = await challenge(other.address);

      const reply = await verify(await sign(asked), { cookie: cookie(asked) });

      expect(reply.body.error).toBe('invalid_signature');
    });

    it.each([
      ['of another domain', (text: string) => text.replace(/^\S+/, 'evil.test')],
      ['with another nonce', (text: string) => text.replace(/Nonce: \w/, 'Nonce: z')],
      ['that expires later', (text: string) => text.replace(/Time: 20/, 'Time: 21')],
      ['with one more line break', (text: string) => `${text}\n`],
    ])('refuses a message %s', async (_, change) => {
      const asked = await challenge();
      const message = change(asked.body.message);
      expect(message).not.toBe(asked.body.message);

      const reply = await verify(await owner.signMessage({ message }), { cookie: cookie(asked) });

      expect(reply.body.error).toBe('invalid_signature');
    });

    it('refuses an expired challenge', async () => {
      const asked = await challenge();
      const signature = await sign(asked);
      clock.advance(limits.challengeLifetimeMs);

      const reply = await verify(signature, { cookie: cookie(asked) });

      expect(reply.body.error).toBe('invalid_signature');
    });

    it('refuses the malleable twin of a signature, and then takes the signature', async () => {
      const asked = await challenge();
      const signature = await sign(asked);

      const twin = await verify(malleable(signature), { cookie: cookie(asked) });
      const genuine = await verify(signature, { cookie: cookie(asked) });

      expect(twin.body.error).toBe('invalid_signature');
      expect(genuine.status).toBe(200);
    });

    it.each([
      ['odd hex', '0x123'],
      ['no prefix', 'ab'.repeat(65)],
      ['nothing', '0x'],
      ['more than 8 KiB', `0x${'ab'.repeat(limits.signatureBytes + 1)}`],
    ])('refuses %s as a signature', async (_, signature) => {
      const reply = await verify(signature);

      expect(reply.body.error).toBe('invalid_request');
    });

    it('lets the owner in after 60 garbage verifications, with and without cookie', async () => {
      const asked = await challenge();
      const garbage = `0x${'11'.repeat(64)}1b`;
      for (let i = 0; i < 60; i++) {
        const reply = await verify(garbage, i % 2 === 0 ? { cookie: cookie(asked) } : {});
        expect(reply.body.error).toBe('invalid_signature');
      }
      const next = await challenge();

      const withCookie = await verify(await sign(asked), { cookie: cookie(asked) });
      const without = await verify(await sign(next));

      expect(withCookie.status).toBe(200);
      expect(without.status).toBe(200);
    });

    it("lets the owner in with the cookie after 20 of somebody else's challenges", async () => {
      const asked = await challenge();
      for (let i = 0; i < 20; i++) await challenge();

      const reply = await verify(await sign(asked), { cookie: cookie(asked) });

      expect(reply.status).toBe(200);
    });

    it("lets the owner in without the cookie after 20 of somebody else's challenges", async () => {
      for (let i = 0; i < 20; i++) await challenge();
      const asked = await challenge();
      for (let i = 0; i < 7; i++) await challenge();

      const reply = await verify(await sign(asked));

      expect(reply.status).toBe(200);
    });

    it.each(['', 'nonsense', 'f'.repeat(64), "' OR 1=1 --"])(
      'refuses %j as a session',
      async (session) => {
        const reply = await service.call('GET', '/api/v1/robots', { session });

        expect(reply.body.error).toBe(session === '' ? 'missing_session' : 'invalid_session');
      },
    );

    it('ends a session after 30 days', async () => {
      const { session } = await service.signIn(owner);
      clock.advance(limits.sessionLifetimeMs);

      const reply = await service.call('GET', '/api/v1/robots', { session });

      expect(reply.body.error).toBe('invalid_session');
    });
  });

  describe('a contract wallet', () => {
    /** Answers the ERC-1271 magic value to every call. */
    const AGREES_TO_ALL = `0x7f1626ba7e${'00'.repeat(28)}60005260206000f3`;

    const APPROVAL = `0x${'12'.repeat(100)}`;

    it('signs in by what its contract says', async () => {
      await service.rpc('anvil_setCode', owner.address, AGREES_TO_ALL);
      const asked = await challenge();

      const withCookie = await verify(APPROVAL, { cookie: cookie(asked) });
      await challenge();
      const newest = await verify(APPROVAL);

      expect(withCookie.status).toBe(200);
      expect(newest.status).toBe(200);
    });
  });
});

describe('sign-in while the chain is away', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.close());

  it('goes on for signatures that need no chain', async () => {
    const owner = await service.signIn();

    expect(owner.session).toMatch(/^[0-9a-f]{64}$/);
  });

  it('does not call a signature invalid that only the chain could judge', async () => {
    const { address } = newWallet();
    await service.call('POST', '/api/auth/challenge', { body: { address } });

    const reply = await service.call('POST', '/api/auth/verify', {
      body: { address, signature: `0x${'12'.repeat(100)}` },
    });

    expect(reply.status).toBe(503);
    expect(reply.body.error).toBe('chain_unavailable');
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  });

  it('asks for a chainId while the anchoring chain is unknown', async () => {
    service.settings.chainId = null;
    const { address } = newWallet();

    const without = await service.call('POST', '/api/auth/challenge', { body: { address } });
    const given = await service.call('POST', '/api/auth/challenge', {
      body: { address, chainId: 1 },
    });
    service.settings.chainId = 31337;

    expect(without.body.error).toBe('chain_unavailable');
    expect(given.status).toBe(200);
  });
});

describe('the token gate', () => {
  /** Answers 5 to every call, so to balanceOf as well. */
  const FIVE_FOR_ALL = '0x60055f5260205ff3';
  const token = '0x00000000000000000000000000000000000000aa';
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ chain: 'mining' });
    await service.rpc('anvil_setCode', token, FIVE_FOR_ALL);
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

/** (r, n − s) with the other recovery id. */
function malleable(signature: string): string {
  const s = ORDER - BigInt(`0x${signature.slice(66, 130)}`);
  const v = signature.endsWith('1b') ? '1c' : '1b';
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}`;
}
