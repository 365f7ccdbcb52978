import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestClock } from '../support/clock.ts';
import {
  cookieOf,
  newWallet,
  setCookieLine,
  startTestService,
  type TestService,
} from '../support/service.ts';
import {
  challengeCookie,
  createWalletCaller,
  type WalletCaller,
} from '../support/wallet-caller.ts';

describe('wallet sign-in', () => {
  const clock = createTestClock();
  let service: TestService;
  let owner: WalletCaller;
  beforeAll(async () => {
    service = await startTestService({ chain: 'mining', clock });
  });
  beforeEach(() => {
    owner = createWalletCaller(service);
  });
  afterAll(() => service.close());

  describe('the challenge', () => {
    it('has the EIP-4361 layout, with the service as its domain', async () => {
      const { host, origin } = new URL(service.url);

      const reply = await owner.challenge();

      const [nonce] = /(?<=Nonce: )\w+/.exec(reply.body.message) ?? [];
      expect(nonce).toMatch(/^[0-9a-f]{64}$/);
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

    it('uses domain and URI of the settings, whatever the Host header', async () => {
      const reply = await service.call('POST', '/api/auth/challenge', {
        body: { address: owner.address },
        headers: { host: 'evil.test', 'x-forwarded-host': 'evil.test' },
      });

      expect(reply.body.message).not.toContain('evil.test');
    });

    it('puts a given chainId into the message', async () => {
      const reply = await owner.challenge(owner.address, 8453);

      expect(reply.body.message).toContain('\nChain ID: 8453\n');
    });

    it('reads an address in any case and states it checksummed', async () => {
      const reply = await owner.challenge(owner.address.toLowerCase());

      expect(reply.body.message).toContain(`\n${owner.address}\n`);
    });

    it.each([0, -1, 1.5, '1', [], 2 ** 53, true])('refuses chainId %j', async (chainId) => {
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
      const line = setCookieLine(await owner.challenge(), 'svc_challenge');

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
      const asked = await owner.challenge();

      const reply = await owner.verify(await owner.sign(asked), { cookie: challengeCookie(asked) });

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

    it('signs in once, even with the message in the body', async () => {
      const asked = await owner.challenge();
      const body = {
        address: owner.address,
        signature: await owner.sign(asked),
        message: asked.body.message,
      };

      const first = await service.call('POST', '/api/auth/verify', { body });
      const second = await service.call('POST', '/api/auth/verify', { body });

      expect(first.body.signed_in).toBe(true);
      expect(second.body.error).toBe('invalid_signature');
    });

    it('of a message that the service did not make is refused', async () => {
      const { body } = await owner.challenge();
      const message = body.message.replace('Chain ID: 31337', 'Chain ID: 1');
      const signature = await owner.account.signMessage({ message });

      const reply = await service.call('POST', '/api/auth/verify', {
        body: { address: owner.address, signature, message },
      });

      expect(reply.body.error).toBe('invalid_signature');
    });

    it('of a message that has expired is refused', async () => {
      const asked = await owner.challenge();
      clock.advance(600_000);

      const reply = await owner.verify(await owner.sign(asked), { cookie: challengeCookie(asked) });

      expect(reply.body.error).toBe('invalid_signature');
    });

    it('may be the older of two, although the cookie is of the newer', async () => {
      const older = await owner.challenge();
      const newer = await owner.challenge();

      const reply = await owner.verify(await owner.sign(older), { cookie: challengeCookie(newer) });

      expect(reply.body.signed_in).toBe(true);
    });

    it('signs in without the challenge cookie too', async () => {
      const reply = await owner.verify(await owner.sign(await owner.challenge()));

      expect(reply.body.signed_in).toBe(true);
    });

    it('of a former address of the service is refused', async () => {
      service.settings.baseUrl = 'https://former.example';
      const asked = await owner.challenge();
      service.settings.baseUrl = service.url;

      const reply = await owner.verify(await owner.sign(asked), { cookie: challengeCookie(asked) });

      expect(asked.body.message).toContain('former.example');
      expect(reply.body.error).toBe('invalid_signature');
    });

    it('keeps the account of a wallet that signs in again', async () => {
      const first = await service.signIn(owner.account);
      const second = await service.signIn(owner.account);
      await service.makeRobot(first);

      const reply = await service.call('GET', '/api/v1/robots', { session: second.session });

      expect(reply.body.items).toHaveLength(1);
    });

    it('ends its session at sign-out, and sign-out without one is harmless', async () => {
      const { session } = await service.signIn(owner.account);

      const out = await service.call('POST', '/api/auth/logout', { session });
      const again = await service.call('POST', '/api/auth/logout');

      const use = await service.call('GET', '/api/v1/robots', { session });
      expect(out.body).toEqual({ signed_out: true });
      expect(again.body).toEqual({ signed_out: true });
      expect(use.body.error).toBe('invalid_session');
    });

    it('leaves neither token nor signature in the log', async () => {
      const asked = await owner.challenge();
      const signature = await owner.sign(asked);
      const reply = await owner.verify(signature);

      const log = service.logLines.join('');
      expect(log).toContain('answered');
      expect(log).not.toContain(signature);
      expect(log).not.toContain(cookieOf(reply, 'svc_session'));
    });
  });
  describe('a contract wallet', () => {
    /** Answers the ERC-1271 magic value to every call. */
    const AGREES_TO_ALL = `0x7f1626ba7e${'00'.repeat(28)}60005260206000f3`;

    const APPROVAL = `0x${'12'.repeat(100)}`;

    it('signs in if its contract accepts the signature', async () => {
      await service.rpc('anvil_setCode', [owner.address, AGREES_TO_ALL]);
      const asked = await owner.challenge();

      const withCookie = await owner.verify(APPROVAL, { cookie: challengeCookie(asked) });
      await owner.challenge();
      const newest = await owner.verify(APPROVAL);

      expect(withCookie.status).toBe(200);
      expect(newest.status).toBe(200);
    });
  });
});

describe('sign-in without the chain', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.close());

  it('works for signatures that do not need the chain', async () => {
    const owner = await service.signIn();

    expect(owner.session).toMatch(/^[0-9a-f]{64}$/);
  });

  it('does not report a signature as invalid that only the chain could check', async () => {
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
