import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Route } from '../../src/protocol/route.ts';
import { routes } from '../../src/protocol/routes.ts';
import { hashToken } from '../../src/server/core/sessions.ts';
import { createTestClock } from '../support/clock.ts';
import {
  newWallet,
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import type { Reply, Send } from '../support/wire.ts';

const HASH = `0x${'ab'.repeat(32)}`;

function rate(reply: Reply): [number, number] {
  const value = (name: string) => Number(reply.headers.get(`x-ratelimit-${name}`));
  return [value('limit'), value('remaining')];
}

interface Counter {
  limit: number;
  caller: Send;
  count: () => Promise<unknown>;
}

type Metered = Route & { limit: Exclude<Route['limit'], 'none'> };

const metered = Object.entries<Route>(routes).filter(
  (row): row is [string, Metered] => row[1].limit !== 'none',
);

describe('limits', () => {
  const clock = createTestClock();
  let service: TestService;
  let owner: Owner;
  let robot: TestRobot;
  beforeAll(async () => {
    service = await startTestService({ clock });
  });
  beforeEach(async () => {
    clock.advance(60_000);
    ({ owner, robot } = await service.signInWithRobot());
  });
  afterAll(() => service.close());

  async function repeat(times: number, call: () => Promise<Reply>): Promise<Reply[]> {
    const replies: Reply[] = [];
    while (replies.length < times) {
      const round = Math.min(50, times - replies.length);
      replies.push(...(await Promise.all(Array.from({ length: round }, call))));
    }
    return replies;
  }

  it('count the calls of a robot that only sessions may make', async () => {
    const [first, second] = await repeat(2, () =>
      service.call('GET', '/api/v1/robots', { apiKey: robot.apiKey }),
    );

    expect(first?.status).toBe(401);
    expect([first, second].map((reply) => reply && rate(reply)[1]).sort()).toEqual([598, 599]);
  });

  function expectRefused(reply: Reply, limit: number): void {
    expect(reply.status).toBe(429);
    expect(reply.body.error).toBe('rate_limited');
    expect(reply.body.retry_after).toBe(Number(reply.headers.get('retry-after')));
    expect(reply.body.retry_after).toBeGreaterThanOrEqual(1);
    expect(reply.body.retry_after).toBeLessThanOrEqual(60);
    expect(rate(reply)).toEqual([limit, 0]);
  }

  it('count each robot separately', async () => {
    const sibling = await service.makeRobot(owner, 'arm-2');
    await service.claim(robot);

    const reply = await service.call('POST', '/api/v1/tasks', {
      apiKey: sibling.apiKey,
      body: { title: 'Pack' },
    });

    expect(rate(reply)).toEqual([600, 599]);
  });

  it('count a call that fails after authentication', async () => {
    const reply = await service.call('POST', '/api/v1/tasks', { apiKey: robot.apiKey, raw: '{' });

    expect(rate(reply)).toEqual([600, 599]);
  });

  it('allow 300 mutations a minute per account, without counting reads', async () => {
    const create = () =>
      service.call('POST', '/api/v1/robots', { session: owner.session, body: { name: '' } });
    const list = () => service.call('GET', '/api/v1/robots', { session: owner.session });

    const replies = await repeat(299, create);
    const refused = await service.call('POST', '/api/v1/robots', {
      session: owner.session,
      body: { name: 'one too many' },
    });

    const read = await list();
    expect(replies.every(({ status }) => status === 400)).toBe(true);
    expectRefused(refused, 300);
    expect(refused.body.message).toContain('300 requests that change something per minute. ');
    expect(read.body.items).toHaveLength(1);
    expect(rate(read)).toEqual([300, 0]);
    clock.advance(60_000);
    expect(rate(await create())).toEqual([300, 299]);
  });

  /** Of each counter: its limit, a caller that it has not seen, and how one call of that caller is counted. */
  const counters: Record<Exclude<Route['limit'], 'none'>, () => Promise<Counter>> = {
    robot: async () => ({
      limit: 600,
      caller: { apiKey: robot.apiKey },
      count: () => service.store.authenticateRobot(hashToken(robot.apiKey)),
    }),
    account: async () => {
      const { session } = await service.signIn();
      const count = () => service.store.authenticateSession(hashToken(session), true, clock.now());
      return { limit: 300, caller: { session }, count };
    },
    challenge: async () => {
      const { address } = newWallet();
      const count = () => service.store.countChallenge(address, null);
      return { limit: 60, caller: { body: { address } }, count };
    },
  };

  it.each(metered)('report for %s its limit, before, within and above it', async (_, route) => {
    const { limit, caller, count } = await counters[route.limit]();
    const call = (by: Send) =>
      service.call(route.method, route.path.replace(':id', randomUUID()), {
        headers: { origin: service.url },
        ...by,
      });

    expect(rate(await call({}))).toEqual([limit, limit]);
    expect(rate(await call(caller))).toEqual([limit, limit - 1]);
    for (let i = 1; i < limit; i += 1) await count();
    expectRefused(await call(caller), limit);
  });

  it('never refuse a sign-out', async () => {
    await repeat(300, () =>
      service.call('POST', '/api/v1/robots', { session: owner.session, body: {} }),
    );

    const reply = await service.call('POST', '/api/auth/logout', { session: owner.session });

    expect(reply.status).toBe(200);
    expect(rate(reply)).toEqual([60, 60]);
  });

  it('allow 60 challenges a minute per wallet, from any caller, in any case of its address', async () => {
    const { address } = newWallet();
    const ask = (wallet: string = address) =>
      service.call('POST', '/api/auth/challenge', { body: { address: wallet } });

    const replies = await repeat(60, () => ask());
    const refused = await ask(address.toLowerCase());
    const other = await ask(newWallet().address);

    expect(replies.every(({ status }) => status === 200)).toBe(true);
    expectRefused(refused, 60);
    expect(refused.headers.getSetCookie()).toEqual([]);
    expect(rate(other)).toEqual([60, 59]);
  });

  it.each<[string, string, number]>([
    ['GET', '/healthz', 600],
    ['GET', '/readyz', 600],
    ['GET', '/api/chain', 600],
    ['GET', `/api/v1/verify/${HASH}`, 600],
    ['GET', '/nothing', 600],
    ['POST', '/api/v1/tasks', 600],
    ['POST', '/api/v1/robots', 300],
    ['GET', '/api/v1/robots', 300],
    ['GET', '/api/auth/nothing', 60],
    ['POST', '/api/auth/verify', 60],
    ['POST', '/api/auth/cli/token', 60],
    ['POST', '/api/auth/cli/authorize', 300],
    ['GET', '/api/auth/cli/authorize', 60],
    ['POST', '/api/auth/logout', 60],
    ['POST', '/api/auth/challenge', 60],
    ['GET', '/api/auth/%zz', 60],
  ])('do not count an anonymous %s %s, and report %d', async (method, path, limit) => {
    await service.call(method, path);
    const reply = await service.call(method, path);

    expect(rate(reply)).toEqual([limit, limit]);
  });

  it('never refuse a public verification', async () => {
    const replies = await repeat(700, () => service.call('GET', `/api/v1/verify/${HASH}`));

    expect(replies.every(({ status }) => status === 404)).toBe(true);
  });
});
