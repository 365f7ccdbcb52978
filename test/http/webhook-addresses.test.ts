import { once } from 'node:events';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { WebhookSettings } from '../../src/server/core/deps.ts';
import {
  createSender,
  createSenders,
  startRelay,
} from '../../src/server/core/webhooks/webhook-relay.ts';
import { connectionRule, connectionRules } from '../../src/server/rules/webhooks.ts';
import { localhostCertificate as certificate } from '../support/certificate.ts';
import { type Owner, startTestService, type TestService } from '../support/service.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

const mayConnect = connectionRule([]);

/** Ways to write an address of this machine, its network or its cloud. */
const literals = [
  '127.0.0.1',
  '127.1',
  '127.255.255.254',
  '2130706433',
  '0x7f.1',
  '0x7f000001',
  '0177.0.0.1',
  '0',
  '0.0.0.0',
  '10.0.0.1',
  '100.64.0.1',
  '100.100.100.200',
  '169.254.169.254',
  '0xa9fea9fe',
  '168.63.129.16',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '192.0.0.192',
  '192.88.99.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::127.0.0.1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:a9fe:a9fe]',
  '[::ffff:0:127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b:1::1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
  '[2001:db8::1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fec0::1]',
  '[ff02::1]',
  '%31%32%37.0.0.1',
];

describe('a webhook', () => {
  let service: TestService;
  let owner: Owner;
  let listener: Server;
  let port: number;
  let connections = 0;
  beforeAll(async () => {
    service = await startTestService({
      webhooks: { key: Buffer.alloc(32), ruleOf: () => mayConnect },
    });
    owner = await service.signIn();
    listener = createServer((socket) => {
      connections += 1;
      socket.destroy();
    }).listen(0, '::');
    await once(listener, 'listening');
    port = (listener.address() as { port: number }).port;
  });
  afterAll(async () => {
    listener.close();
    await service.close();
  });

  const create = (url: string) =>
    service.call('POST', '/api/v1/webhooks', {
      session: owner.session,
      body: { url, events: ['task.failed'] },
    });

  it.each(literals)('is not created for the address %s', async (host) => {
    const { status, body } = await create(`https://${host}:${port}/`);

    expect([status, body.error]).toEqual([400, 'webhook_url_refused']);
  });

  it.each(literals)('does not connect to the address %s', async (host) => {
    const sender = createSender({ mayConnect });

    await expect(sender.post(`https://${host}:${port}/`, {}, '')).rejects.toThrow('not public');
  });

  it.each(literals.filter((host) => !/[[%x]/.test(host)))(
    'does not connect to a name that resolves to %s, alone or beside a public address',
    async (host) => {
      const address = new URL(`https://${host}`).hostname;
      for (const found of [[address], ['93.184.216.34', address]]) {
        const sender = createSender({ mayConnect, resolve: async () => found });
        const sent = sender.post(`https://rebinding.example.org:${port}/`, {}, '');

        await expect(sent).rejects.toThrow('not public');
      }
    },
  );

  it('has an https URL without credentials', async () => {
    for (const url of ['http://ops.example.org/', 'ftp://ops.example.org/', 'ops.example.org']) {
      expect((await create(url)).body.error).toBe('invalid_request');
    }
    const { body } = await create('https://user:password@ops.example.org/');
    expect(body.error).toBe('webhook_url_refused');
  });

  it('reached no address of this machine in any of these attempts', () => {
    expect(connections).toBe(0);
  });
});

/** Addresses of this machine that a webhook may have only in `svc-server dev`. */
const local = ['http://127.0.0.1', 'http://[::1]'];

describe('a webhook with http to this machine', () => {
  const key = Buffer.alloc(32);
  // What an operator can allow at most.
  const ruleOf = () => connectionRule(['0.0.0.0/0', '::/0']);
  let received: { url: string | undefined; id: unknown; body: string }[];
  let listener: HttpServer;
  let port: number;
  beforeAll(async () => {
    listener = createHttpServer(async (request, response) => {
      const { url, headers } = request;
      received.push({ url, id: headers['webhook-id'], body: await text(request) });
      response.writeHead(204).end();
    }).listen(0, '::');
    await once(listener, 'listening');
    port = (listener.address() as AddressInfo).port;
  });
  beforeEach(() => {
    received = [];
  });
  afterAll(() => listener.close());

  async function start(webhooks: WebhookSettings) {
    const service = await startTestService({ webhooks });
    const { owner, robot } = await service.signInWithRobot();
    const call = (method: string, path: string, body?: object) =>
      service.call(method, `/api/v1/webhooks${path}`, {
        session: owner.session,
        ...(body && { body }),
      });
    const create = (url: string) => call('POST', '', { url, events: ['event.created'] });
    return { service, owner, robot, call, create };
  }

  it.each(local)('receives messages at %s in svc-server dev', async (host) => {
    const { service, robot, create } = await start({ key, ruleOf, localHttp: true });
    const senders = createSenders(ruleOf, { localHttp: true });
    const relay = startRelay({
      store: service.store,
      clock: systemClock,
      webhooks: { key, senderOf: senders.senderOf },
      onError: (error) => expect.unreachable(String(error)),
      pollMs: 86_400_000,
    });

    const { status } = await create(`${host}:${port}/hook`);
    const body = { event_type: 'moved' };
    await service.call('POST', '/api/v1/events', { apiKey: robot.apiKey, body });
    await relay.turn();
    await relay.stop();
    senders.close();
    await service.close();

    expect(status).toBe(201);
    expect(received).toMatchObject([
      { url: '/hook', id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    ]);
    expect(JSON.parse(received[0]?.body ?? '')).toMatchObject({ type: 'event.created' });
  });

  it('is refused in svc-server dev at every other address', async () => {
    const { service, create } = await start({ key, ruleOf: () => mayConnect, localHttp: true });
    const hosts = [
      ...['http://localhost', 'http://127.0.0.2', 'http://0.0.0.0', 'http://192.168.1.1'],
      ...['http://[::ffff:127.0.0.1]', 'http://127.0.0.1.nip.io', 'http://ops.example.org'],
      ...['http://127.0.0.1:80@ops.example.org', 'http://user:word@127.0.0.1'],
      ...['https://127.0.0.1', 'https://[::1]'],
    ];

    for (const host of hosts) {
      const { status, body } = await create(`${host}:${port}/`);
      const refusals = ['invalid_request', 'webhook_url_refused'];
      expect([host, status, refusals.includes(body.error)]).toEqual([host, 400, true]);
      const sender = createSender({ mayConnect, localHttp: true });
      await expect(sender.post(`${host}:${port}/`, {}, '')).rejects.toThrow();
    }
    await service.close();

    expect(received).toEqual([]);
  });

  it('is refused in svc-server start, also if it was created in dev', async () => {
    const { service, create } = await start({ key, ruleOf });
    const sender = createSender({ mayConnect: ruleOf() });

    for (const host of local) {
      const { status, body } = await create(`${host}:${port}/`);
      expect([status, body]).toEqual([
        400,
        {
          error: 'webhook_url_refused',
          message: 'The URL of the webhook is refused: it is not https.',
        },
      ]);
      await expect(sender.post(`${host}:${port}/`, {}, '')).rejects.toThrow('not public');
    }
    await service.close();

    expect(received).toEqual([]);
  });
});

describe('the networks of the operator', () => {
  const named: string[] = [];
  const ruleOf = (wallet: string) => connectionRules(['127.0.0.1'], named)(wallet);
  const key = Buffer.alloc(32);
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ webhooks: { key, ruleOf } });
  });
  afterAll(() => service.close());

  async function signIn() {
    const { owner, robot } = await service.signInWithRobot();
    const call = (method: string, path: string, body?: object) =>
      service.call(method, `/api/v1/webhooks${path}`, {
        session: owner.session,
        ...(body && { body }),
      });
    return { owner, robot, call };
  }

  it('are open to webhooks of the named wallets only', async () => {
    const [guest, listed] = [await signIn(), await signIn()];
    named.push(listed.owner.wallet);
    const hook = { url: 'https://127.0.0.1:9/', events: ['event.created'] };

    const created = [await guest.call('POST', '', hook), await listed.call('POST', '', hook)];
    const id = created[1]?.body.webhook.id;
    const moved = [await listed.call('PATCH', `/${id}`, { url: 'https://127.0.0.1:10/' })];

    expect([...created, ...moved].map(({ status }) => status)).toEqual([400, 201, 200]);
    expect(created[0]?.body.error).toBe('webhook_url_refused');
  });

  it('receive no message through a host name after the wallet is no longer named', async () => {
    const receiver = await startReceiver(certificate);
    const senders = createSenders((wallet) => ruleOf(wallet), {
      ca: certificate.cert,
      resolve: async () => ['127.0.0.1'],
    });
    const onError = (error: unknown) => expect.unreachable(String(error));
    const webhooks = { key, senderOf: senders.senderOf };
    const { store } = service;
    const relay = startRelay({
      store,
      clock: systemClock,
      webhooks,
      onError,
      pollMs: 86_400_000,
    });
    const [guest, listed] = [await signIn(), await signIn()];
    named.push(listed.owner.wallet);
    for (const { call, robot } of [guest, listed]) {
      const url = receiver.url.replace('127.0.0.1', 'localhost');
      await call('POST', '', { url, events: ['event.created'] });
      const body = { event_type: 'moved', message: robot.id };
      await service.call('POST', '/api/v1/events', { apiKey: robot.apiKey, body });
    }

    await relay.turn();
    const [hook] = (await guest.call('GET', '')).body.items;
    const deliveries = (await guest.call('GET', `/${hook.id}/deliveries`)).body.items;
    named.pop();
    const body = { event_type: 'moved' };
    await service.call('POST', '/api/v1/events', { apiKey: listed.robot.apiKey, body });
    await relay.turn();
    await relay.stop();
    senders.close();
    await receiver.close();

    expect(deliveries).toMatchObject([{ last_error: 'the address is not public' }]);
    expect(receiver.received.map(({ data }) => data.message)).toEqual([listed.robot.id]);
  });
});
