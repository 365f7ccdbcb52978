import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { createTestClock } from '../support/clock.ts';
import { newWallet, startTestService, type TestService } from '../support/service.ts';
import {
  challengeCookie,
  createWalletCaller,
  type WalletCaller,
} from '../support/wallet-caller.ts';

/** The order of secp256k1: (r, n − s) signs the same message as (r, s). */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

describe('attacks on sign-in', () => {
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

  it('refuses a replayed signature', async () => {
    const asked = await owner.challenge();
    const signature = await owner.sign(asked);
    await owner.verify(signature, { cookie: challengeCookie(asked) });

    const withCookie = await owner.verify(signature, { cookie: challengeCookie(asked) });
    const without = await owner.verify(signature);

    expect(withCookie.body.error).toBe('invalid_signature');
    expect(without.body.error).toBe('invalid_signature');
  });

  it('accepts one of many concurrent verifications of one signature', async () => {
    const asked = await owner.challenge();
    const signature = await owner.sign(asked);

    const replies = await Promise.all(Array.from({ length: 20 }, () => owner.verify(signature)));

    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it("refuses another wallet's signature", async () => {
    const asked = await owner.challenge();
    const signature = await newWallet().signMessage({ message: asked.body.message });

    const reply = await owner.verify(signature, { cookie: challengeCookie(asked) });

    expect(reply.status).toBe(401);
    expect(reply.body.error).toBe('invalid_signature');
  });

  it("refuses another wallet's challenge, even by its cookie", async () => {
    const other = newWallet();
    const asked = await owner.challenge(other.address);

    const reply = await owner.verify(await owner.sign(asked), { cookie: challengeCookie(asked) });

    expect(reply.body.error).toBe('invalid_signature');
  });

  it.each([
    ['of another domain', (text: string) => text.replace(/^\S+/, 'evil.test')],
    ['with another nonce', (text: string) => text.replace(/Nonce: \w/, 'Nonce: z')],
    ['that expires later', (text: string) => text.replace(/Time: 20/, 'Time: 21')],
    ['with one more line break', (text: string) => `${text}\n`],
  ])('refuses a message %s', async (_, change) => {
    const asked = await owner.challenge();
    const message = change(asked.body.message);
    expect(message).not.toBe(asked.body.message);

    const reply = await owner.verify(await owner.account.signMessage({ message }), {
      cookie: challengeCookie(asked),
    });

    expect(reply.body.error).toBe('invalid_signature');
  });

  it('refuses an expired challenge', async () => {
    const asked = await owner.challenge();
    const signature = await owner.sign(asked);
    clock.advance(limits.challengeLifetimeMs);

    const reply = await owner.verify(signature, { cookie: challengeCookie(asked) });

    expect(reply.body.error).toBe('invalid_signature');
  });

  it('refuses the malleable form of a signature, and then accepts the signature', async () => {
    const asked = await owner.challenge();
    const signature = await owner.sign(asked);

    const twin = await owner.verify(malleable(signature), { cookie: challengeCookie(asked) });
    const genuine = await owner.verify(signature, { cookie: challengeCookie(asked) });

    expect(twin.body.error).toBe('invalid_signature');
    expect(genuine.status).toBe(200);
  });

  it.each([
    ['odd hex', '0x123'],
    ['no prefix', 'ab'.repeat(65)],
    ['nothing', ''],
    ['more than 8 KiB', `0x${'ab'.repeat(limits.signatureBytes + 1)}`],
  ])('refuses %s as a signature', async (_, signature) => {
    const reply = await owner.verify(signature);

    expect(reply.body.error).toBe('invalid_request');
  });

  it('signs the owner in after 60 garbage verifications, with and without cookie', async () => {
    const asked = await owner.challenge();
    const garbage = `0x${'11'.repeat(64)}1b`;
    for (let i = 0; i < 60; i++) {
      const reply = await owner.verify(
        garbage,
        i % 2 === 0 ? { cookie: challengeCookie(asked) } : {},
      );
      expect(reply.body.error).toBe('invalid_signature');
    }
    const next = await owner.challenge();

    const withCookie = await owner.verify(await owner.sign(asked), {
      cookie: challengeCookie(asked),
    });
    const without = await owner.verify(await owner.sign(next));

    expect(withCookie.status).toBe(200);
    expect(without.status).toBe(200);
  });

  it('signs the owner in with the cookie after 20 challenges of a stranger', async () => {
    const asked = await owner.challenge();
    for (let i = 0; i < 20; i++) await owner.challenge();

    const reply = await owner.verify(await owner.sign(asked), { cookie: challengeCookie(asked) });

    expect(reply.status).toBe(200);
  });

  it('signs the owner in without the cookie after 20 challenges of a stranger', async () => {
    for (let i = 0; i < 20; i++) await owner.challenge();
    const asked = await owner.challenge();
    for (let i = 0; i < 7; i++) await owner.challenge();

    const reply = await owner.verify(await owner.sign(asked));

    expect(reply.status).toBe(200);
  });

  it('signs the owner in without the cookie, with the first of all challenges of a minute', async () => {
    const asked = await owner.challenge();
    for (let i = 1; i < 60; i++) await owner.challenge();
    const refused = await owner.challenge();

    const reply = await owner.verify(await owner.sign(asked));

    expect(refused.status).toBe(429);
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
    const { session } = await service.signIn(owner.account);
    clock.advance(limits.sessionLifetimeMs);

    const reply = await service.call('GET', '/api/v1/robots', { session });

    expect(reply.body.error).toBe('invalid_session');
  });
});

/** (r, n − s) with the other recovery id. */
function malleable(signature: string): string {
  const s = ORDER - BigInt(`0x${signature.slice(66, 130)}`);
  const v = signature.endsWith('1b') ? '1c' : '1b';
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}`;
}
