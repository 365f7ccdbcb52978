import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createSender, createSenders, startRelay } from '../../src/server/core/webhook-relay.ts';
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

  it('get no message by the name of a host in them, also after a wallet is no longer named', async () => {
    const receiver = await startReceiver(certificate);
    const senders = createSenders((wallet) => ruleOf(wallet), {
      ca: certificate.cert,
      resolve: async () => ['127.0.0.1'],
    });
    const onError = (error: unknown) => expect.unreachable(String(error));
    const webhooks = { key, senderOf: senders.senderOf };
    const evaluate = async () => {};
    const { store } = service;
    const relay = startRelay({
      store,
      clock: systemClock,
      webhooks,
      evaluate,
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
