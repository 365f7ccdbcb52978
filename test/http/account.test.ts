import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Lease } from '../../src/server/ports/anchoring.ts';
import { startTestChain } from '../support/anvil.ts';
import { createTestClock } from '../support/clock.ts';
import { startRpcProxy } from '../support/rpc-proxy.ts';
import {
  grant,
  newWallet,
  type Owner,
  setCookieLine,
  startTestService,
  type TestService,
} from '../support/service.ts';
import { signupGrant } from '../support/signup-grant.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

// The first test sees no fee quote yet; a later one saves it.
describe('the account', { shuffle: false }, () => {
  const clock = createTestClock();
  let service: TestService;
  let owner: Owner;
  let lease: Lease;
  beforeAll(async () => {
    service = await startTestService({ clock, settings: { signup: noGrants } });
    const sender = { chainId: 31337, address: newWallet().address };
    const held = await service.store.acquireLease(sender, 'test', 10 ** 9, clock.now());
    if (held === null) throw new Error('The lease is free');
    lease = held;
  });
  beforeEach(async () => {
    owner = await service.signIn();
  });
  afterAll(() => service.close());

  const noGrants = { mode: 'open', ...signupGrant(0, 0n) } as const;
  const get = (path: string, { session } = owner) =>
    service.call('GET', `/api/v1${path}`, { session });

  describe('GET /me', () => {
    it('returns wallet, gate, credits and ceilings', async () => {
      await service.makeRobot(owner);
      await service.makeRobot(owner, 'arm-2');

      const reply = await get('/me');

      expect(reply.status).toBe(200);
      expect(reply.body).toEqual({
        wallet: owner.wallet,
        gate: { required: false, holds: true },
        credits: {
          anchor_quota: 0,
          gas_credit_wei: '0',
          anchors_affordable: null,
          low: true,
          refused: { tasks: 0, since: null },
          credit_url: null,
        },
        limits: { robots: { used: 2, max: 500 }, fleets: { used: 0, max: 100 } },
      });
    });

    it('counts the anchors that the credits afford at the newest fees, by the scarcer credit', async () => {
      // 25 000 gas at 2 × 10 + 1 wei.
      const quote = {
        singleGas: 25_000n,
        baseFeePerGas: 10n,
        maxPriorityFeePerGas: 1n,
        dataFeeWei: 0n,
      };
      await service.store.saveChainStatus(lease, {
        quote,
        degraded: [],
        parked: 0,
        now: clock.now(),
      });
      const credits = async () => (await get('/me')).body.credits;

      await grant(service.store, owner.wallet, 100, 525_000n * 10n - 1n);
      expect(await credits()).toMatchObject({ anchors_affordable: 9, low: true });
      await grant(service.store, owner.wallet, 0, 1n);
      expect(await credits()).toEqual({
        anchor_quota: 100,
        gas_credit_wei: '5250000',
        anchors_affordable: 10,
        low: false,
        refused: { tasks: 0, since: null },
        credit_url: null,
      });
      await grant(service.store, owner.wallet, 0, 10n ** 30n);
      expect(await credits()).toMatchObject({ anchors_affordable: 100, low: false });
    });
  });

  describe('GET /credits/ledger', () => {
    it('lists grants newest first, in pages', async () => {
      for (const anchors of [1, 2, 3]) await grant(service.store, owner.wallet, anchors, 7n);

      const first = await get('/credits/ledger?limit=2');
      const second = await get(`/credits/ledger?limit=2&cursor=${first.body.next_cursor}`);

      expect(first.body.items[0]).toEqual({
        id: expect.stringMatching(UUID),
        kind: 'grant',
        anchors: 3,
        gas_wei: '7',
        cost_wei: null,
        task_id: null,
        note: 'test',
        created_at: expect.stringMatching(/Z$/),
      });
      const anchors = [first, second].map(({ body }) =>
        body.items.map((entry: { anchors: number }) => entry.anchors),
      );
      expect(anchors).toEqual([[3, 2], [1]]);
      expect(second.body.next_cursor).toBeNull();
    });

    it('reveals nothing about other accounts through ids and cursors', async () => {
      for (const anchors of [1, 2, 3]) await grant(service.store, owner.wallet, anchors, 7n);
      const stranger = await service.signIn();

      const first = await get('/credits/ledger?limit=2');
      const again = await get('/credits/ledger?limit=3');
      const cursor = first.body.next_cursor;
      const foreign = await get(`/credits/ledger?cursor=${cursor}`, stranger);

      const ids = again.body.items.map(({ id }: { id: string }) => id);
      expect(new Set(ids).size).toBe(3);
      expect(first.body.items.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 2));
      expect(cursor).toMatch(/^[\w-]{48}$/);
      expect([foreign.status, foreign.body.error]).toEqual([400, 'invalid_request']);
      expect(foreign.body.message).toContain('cursor');
    });

    it('shows a reservation against its task', async () => {
      await grant(service.store, owner.wallet, 1, 10n ** 18n);
      const robot = await service.makeRobot(owner);
      const id = await service.claim(robot);
      service.settings.anchorTimeoutMs = 1;
      await service.complete(robot, id);

      const { body } = await get('/credits/ledger');

      expect(body.items[0]).toMatchObject({
        kind: 'reserve',
        anchors: -1,
        cost_wei: null,
        task_id: id,
        note: null,
      });
      expect(body.items[0].gas_wei).toMatch(/^-[1-9]\d*$/);
    });

    it('shows nothing of another account', async () => {
      await grant(service.store, (await service.signIn()).wallet, 1, 1n);

      expect((await get('/credits/ledger')).body).toEqual({ items: [], next_cursor: null });
    });
  });

  describe('sessions', () => {
    it('are listed newest first, with the current one marked, without ended ones', async () => {
      clock.advance(1000);
      const other = await service.signIn(owner.account);
      clock.advance(1000);
      const ended = await service.signIn(owner.account);
      await service.call('POST', '/api/auth/logout', { session: ended.session });
      await service.signIn();

      const { body } = await get('/sessions', other);

      expect(body).toEqual({
        items: [
          {
            id: expect.stringMatching(/^[0-9a-f-]{36}$/),
            signed_in_with: 'wallet',
            created_at: new Date(clock.now() - 1000).toISOString(),
            expires_at: new Date(clock.now() - 1000 + 30 * 86_400_000).toISOString(),
            current: true,
          },
          expect.objectContaining({ current: false }),
        ],
        next_cursor: null,
      });
    });

    it('are listed in pages', async () => {
      for (let i = 0; i < 4; i += 1) await service.signIn(owner.account);

      const first = await get('/sessions?limit=3');
      const second = await get(`/sessions?limit=3&cursor=${first.body.next_cursor}`);

      const ids = [...first.body.items, ...second.body.items].map(({ id }) => id);
      expect(new Set(ids).size).toBe(5);
      expect(second.body.next_cursor).toBeNull();
    });

    it('end immediately when they are revoked', async () => {
      const other = await service.signIn(owner.account);
      const { items } = (await get('/sessions', other)).body;
      const { id } = items.find((session: { current: boolean }) => session.current);

      const reply = await service.call('DELETE', `/api/v1/sessions/${id}`, {
        session: owner.session,
      });

      expect([reply.status, reply.body]).toEqual([200, { deleted: true }]);
      expect(reply.headers.getSetCookie()).toEqual([]);
      expect((await get('/me', other)).body.error).toBe('invalid_session');
      expect((await get('/me')).status).toBe(200);
    });

    it('clear their cookie when they revoke themselves', async () => {
      const { id } = (await get('/sessions')).body.items[0];

      const reply = await service.call('DELETE', `/api/v1/sessions/${id}`, {
        session: owner.session,
      });

      expect(setCookieLine(reply, 'svc_session')).toMatch(/^svc_session=;/);
      expect((await get('/me')).body.error).toBe('invalid_session');
    });

    it('of another account are not found, and stay open', async () => {
      const stranger = await service.signIn();
      const { id } = (await get('/sessions', stranger)).body.items[0];
      const end = (target: string) =>
        service.call('DELETE', `/api/v1/sessions/${target}`, { session: owner.session });

      expect((await end(id)).body.error).toBe('not_found');
      expect((await end(randomUUID())).body.error).toBe('not_found');
      expect((await get('/me', stranger)).status).toBe(200);
    });
  });
});

describe('the gate in GET /me', () => {
  const token = `0x${'11'.repeat(20)}`;

  it('is read once in 10 s for each wallet, and again for every sign-in', async () => {
    const [fiveForAll, noneForAll] = ['0x60055f5260205ff3', '0x5f5f5260205ff3'];
    const chain = await startTestChain();
    const proxy = await startRpcProxy(chain.url);
    const clock = createTestClock();
    const service = await startTestService({ rpcUrl: proxy.url, clock });
    try {
      const [owner, other] = [await service.signIn(), await service.signIn()];
      const reads = () => proxy.asked.methods.filter((method) => method === 'eth_call').length;
      const shown = async ({ session }: Owner) =>
        (await service.call('GET', '/api/v1/me', { session })).body.gate.holds;
      await chain.rpc('anvil_setCode', [token, fiveForAll]);
      service.settings.gate = { token, minBalance: 5n };

      const many = await Promise.all(Array.from({ length: 20 }, () => shown(owner)));
      expect([new Set(many), reads()]).toEqual([new Set([true]), 1]);
      await chain.rpc('anvil_setCode', [token, noneForAll]);
      clock.advance(9_999);
      expect([await shown(owner), reads()]).toEqual([true, 1]);
      expect([await shown(other), reads()]).toEqual([false, 2]);
      expect([await holdsAtSignIn(service, owner), reads()]).toEqual([false, 3]);
      clock.advance(1);
      expect([await shown(owner), reads()]).toEqual([false, 4]);
    } finally {
      await service.close();
      await proxy.close();
      await chain.close();
    }
  });
});

async function holdsAtSignIn(service: TestService, { account }: Owner): Promise<boolean> {
  const { address } = account;
  const asked = await service.call('POST', '/api/auth/challenge', { body: { address } });
  const signature = await account.signMessage({ message: asked.body.message });
  const body = { address, signature };
  return (await service.call('POST', '/api/auth/verify', { body })).body.gate.holds;
}
