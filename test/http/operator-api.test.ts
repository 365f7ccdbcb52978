import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock as clock } from '../../src/base/clock.ts';
import { operatorRoutes } from '../../src/protocol/operator-api.ts';
import type { Route } from '../../src/protocol/route.ts';
import {
  buildOperatorApi,
  listenForOperator,
  readOperatorToken,
} from '../../src/server/http/operator-api.ts';
import { RefusedCallers } from '../../src/server/http/server/refused-callers.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { newWallet, type Owner, startTestService, type TestService } from '../support/service.ts';

const token = 'a-token-of-the-operator';
/** The id of grants that are refused. */
const GRANT = 'refused';
const refusals = new RefusedCallers(clock);

let service: TestService;
let api: FastifyInstance;
let url: string;
let owner: Owner;
beforeAll(async () => {
  service = await startTestService({ refusals });
  const { store, chain } = service;
  api = buildOperatorApi({
    store,
    chain,
    clock,
    logger: pino({ level: 'silent' }),
    token,
    refusals,
  });
  url = await api.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await api.close();
  await service.close();
});
beforeEach(async () => {
  owner = await service.signIn();
});

async function ask(method: string, target: string, body?: unknown, bearer = token) {
  const reply = await fetch(url + target, {
    method,
    headers: {
      authorization: `Bearer ${bearer}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: the tests name what they expect of it
  return { status: reply.status, body: (await reply.json()) as any };
}

const robotOf = (of: Owner) => service.makeRobot(of);

async function tokenOf({ session }: Owner): Promise<string> {
  const body = { name: 'ci', scope: 'write' };
  return (await service.call('POST', '/api/v1/tokens', { session, body })).body.secret;
}

describe('the operator API', () => {
  it.each(['/accounts', '/openapi.json', '/nothing', '/refusals'])(
    'refuses %s without its token',
    async (target) => {
      const { status, body } = await ask('GET', target, undefined, `${token}x`);

      expect([status, body.error]).toEqual([401, 'missing_api_key']);
    },
  );

  describe.each(Object.entries<Route>(operatorRoutes))('%s', (_, { method, path: pattern }) => {
    const target = () => pattern.replace(':wallet', owner.wallet);
    const body = method === 'GET' ? undefined : { id: randomUUID(), anchors: 1 };

    it.each<[string, () => Promise<Record<string, string>>]>([
      ['no credential', async () => ({})],
      ['a robot key', async () => ({ authorization: `Bearer ${(await robotOf(owner)).apiKey}` })],
      ['a session', async () => ({ cookie: `svc_session=${owner.session}` })],
      ['an account token', async () => ({ authorization: `Bearer ${await tokenOf(owner)}` })],
    ])('refuses %s', async (_caller, credentials) => {
      const headers = { ...(await credentials()), 'content-type': 'application/json' };

      const reply = await fetch(url + target(), {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      });

      const { error } = (await reply.json()) as { error: string };
      expect([reply.status, error]).toEqual([401, 'missing_api_key']);
    });

    it('is not on the port of the service', async () => {
      const headers = { authorization: `Bearer ${token}` };
      const sent = { headers, ...(body && { body }) };

      const { status } = await service.call(method, target(), sent);

      expect(status).toBe(404);
    });
  });

  it('grants once, however often a grant is repeated', async () => {
    const target = `/accounts/${owner.wallet}/grants`;
    const grant = { id: randomUUID(), anchors: 10, gas_wei: '5', note: 'invoice 17' };
    const before = await ask('GET', `/accounts/${owner.wallet}`);

    const replies = await Promise.all([1, 2, 3].map(() => ask('POST', target, grant)));

    const outcomes = replies.map(({ body }) => body.outcome);
    expect(outcomes.sort()).toEqual(['granted', 'repeated', 'repeated']);
    const { body } = await ask('GET', `/accounts/${owner.wallet}`);
    expect(body.anchor_quota).toBe(before.body.anchor_quota + 10);
  });

  it('refuses a grant id with other content', async () => {
    const target = `/accounts/${owner.wallet}/grants`;
    const grant = { id: randomUUID(), anchors: 10, note: 'invoice 17' };
    await ask('POST', target, grant);

    const { status, body } = await ask('POST', target, { ...grant, anchors: 11 });

    expect([status, body.error]).toEqual([409, 'id_conflict']);
  });

  it('opens the account of a wallet that never signed in', async () => {
    const wallet = newWallet().address;

    const { body } = await ask('POST', `/accounts/${wallet}/grants`, {
      id: randomUUID(),
      anchors: 3,
      note: 'prepaid',
    });

    expect(body).toEqual({
      outcome: 'granted',
      balance: { wallet, anchor_quota: 3, gas_credit_wei: '0' },
    });
  });

  it('stops sign-in and writes of a suspended account, until it is resumed', async () => {
    const robot = await service.makeRobot(owner);
    const claim = () =>
      service.call('POST', '/api/v1/tasks', { apiKey: robot.apiKey, body: { title: 'Sort' } });

    const suspended = await ask('POST', `/accounts/${owner.wallet}/suspend`, { reason: 'abuse' });

    expect(suspended.body).toMatchObject({ robots: 1, suspended_at: expect.any(String) });
    const refused = await claim();
    expect([refused.status, refused.body.error]).toEqual([403, 'account_suspended']);
    await expect(service.signIn(owner.account)).rejects.toThrow('account_suspended');
    const log = await service.call('GET', '/api/v1/audit-log', { session: owner.session });
    expect(log.body.items[0]).toMatchObject({
      kind: 'account_suspended',
      actor: 'operator',
      detail: 'abuse',
    });
    await ask('POST', `/accounts/${owner.wallet}/resume`, {});
    expect((await claim()).status).toBe(201);
    expect((await service.signIn(owner.account)).wallet).toBe(owner.wallet);
  });

  it('records a repeated suspension once', async () => {
    const target = `/accounts/${owner.wallet}/suspend`;
    await ask('POST', target, {});

    const { status } = await ask('POST', target);

    const entries = await service.store.listAuditLog(owner.wallet, 10, null);
    expect(status).toBe(200);
    expect(entries.filter(({ kind }) => kind === 'account_suspended')).toHaveLength(1);
  });

  it('lists every account with its usage', async () => {
    await service.makeRobot(owner);

    const { body } = await ask('GET', '/accounts?limit=200');

    const own = body.items.find(({ wallet }: Owner) => wallet === owner.wallet);
    expect(own).toMatchObject({ robots: 1, queued_proofs: 0, anchors_30_days: 0 });
  });

  it('lists accounts in pages', async () => {
    await service.signIn();
    const wallets: string[] = [];
    let pages = 0;
    for (let cursor = ''; ; pages += 1) {
      const { body } = await ask('GET', `/accounts?limit=1${cursor}`);
      expect(body.items).toHaveLength(1);
      wallets.push(body.items[0].wallet);
      if (body.next_cursor === null) break;
      cursor = `&cursor=${body.next_cursor}`;
    }

    const all = (await ask('GET', '/accounts?limit=200')).body;
    expect(wallets).toEqual(all.items.map(({ wallet }: Owner) => wallet));
    expect([all.next_cursor, pages > 0]).toEqual([null, true]);
  });

  it.each(['limit=0', 'limit=201', 'cursor=x', 'other=1'])('refuses ?%s', async (query) => {
    const { status, body } = await ask('GET', `/accounts?${query}`);

    expect([status, body.error]).toEqual([400, 'invalid_request']);
  });

  it('lists the callers that were refused most', async () => {
    await ask('POST', `/accounts/${owner.wallet}/suspend`, {});
    const challenge = () =>
      service.call('POST', '/api/auth/challenge', { body: { address: owner.wallet } });
    // More than two minutes allow: the minute may end meanwhile.
    await Promise.all(Array.from({ length: 125 }, challenge));

    const { body } = await ask('GET', '/refusals');

    const [first] = body.items;
    expect(first).toMatchObject({ caller: '127.0.0.1', refused: expect.any(Number) });
    expect(first.refused).toBeGreaterThanOrEqual(5);
  });

  it.each([
    ['/accounts/0x12', 'invalid_address', 400],
    ['/accounts/0x00000000000000000000000000000000000000aa', 'not_found', 404],
    ['/nothing', 'not_found', 404],
  ])('refuses %s', async (target, code, status) => {
    const reply = await ask('GET', target);

    expect([reply.status, reply.body.error]).toEqual([status, code]);
  });

  it.each([
    [{ anchors: 1, note: 'no id' }],
    [{ id: GRANT, anchors: -1, note: 'negative' }],
    [{ id: GRANT, anchors: 1, note: '' }],
    [{ id: GRANT, gas_wei: '1.5', note: 'no integer' }],
    [{ id: GRANT, anchors: 1, note: 'x', extra: true }],
  ])('refuses the grant %j', async (grant) => {
    const { status } = await ask('POST', `/accounts/${owner.wallet}/grants`, grant);

    expect(status).toBe(400);
  });

  it('describes itself', async () => {
    const { body } = await ask('GET', '/openapi.json');

    expect(body.info.title).toBe('svc: operator API');
    expect(Object.keys(body.paths)).toContain('/accounts/{wallet}/grants');
  });
});

describe('where the operator API listens', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'svc-operator-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each(['a socket', 'a port'])('at %s is used by `svc-server accounts top`', async (kind) => {
    const { store, chain } = service;
    const logger = pino({ level: 'silent' });
    const counted = new RefusedCallers(clock);
    counted.add('203.0.113.7');
    const alone = buildOperatorApi({ store, chain, clock, logger, token, refusals: counted });
    const tokenFile = path.join(folder, 'operator-token');
    await writeFile(tokenFile, token, { mode: 0o600 });
    let address = path.join(folder, 'top.sock');
    if (kind === 'a socket') await listenForOperator(alone, address);
    else address = new URL(await alone.listen({ host: '127.0.0.1', port: 0 })).host;

    const top = await runInProcess(
      'svc-server',
      ['accounts', 'top', '--by', 'refusals', '--json'],
      {
        env: {
          SVC_CHAIN_RPC_URL: 'http://127.0.0.1:1',
          SVC_OPERATOR_LISTEN: address,
          SVC_OPERATOR_TOKEN_FILE: tokenFile,
        },
      },
    );
    await alone.close();

    expect([top.exitCode, top.stderr]).toEqual([0, '']);
    expect(JSON.parse(top.stdout)).toEqual({ caller: '203.0.113.7', refused: 1 });
  });

  it('is never an existing file of another kind', async () => {
    const { store, chain } = service;
    const logger = pino({ level: 'silent' });
    const alone = buildOperatorApi({ store, chain, clock, logger, token, refusals });
    const file = path.join(folder, 'notes');
    await writeFile(file, 'kept');

    await expect(listenForOperator(alone, file)).rejects.toMatchObject({ code: 'cannot_listen' });

    await alone.close();
    expect(await readFile(file, 'utf8')).toBe('kept');
  });

  it.each([
    ['short', 0o600],
    [token, 0o644],
  ])('refuses the token file with %j and mode %o', async (content, mode) => {
    const file = path.join(folder, `token-${mode}`);
    await writeFile(file, content, { mode });

    await expect(readOperatorToken(file)).rejects.toMatchObject({ code: 'key_unusable' });
  });
});
