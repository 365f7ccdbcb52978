import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSender } from '../../src/server/core/webhook-relay.ts';
import { connectionRule } from '../../src/server/rules/webhooks.ts';
import { type Owner, startTestService, type TestService } from '../support/service.ts';

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
    service = await startTestService({ webhooks: { key: Buffer.alloc(32), mayConnect } });
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
