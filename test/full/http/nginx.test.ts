import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Balancer } from '../../support/balancer.ts';
import { startNginx, streamModule } from '../../support/nginx.ts';
import { isMissing } from '../../support/require-program.ts';
import {
  type Owner,
  startServiceWithRobot,
  type TestRobot,
  type TestService,
} from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';

const hasNginx = streamModule() !== null;

it.skipIf(hasNginx)('deploy/nginx.conf', (context) => isMissing(context, 'nginx'));

describe.skipIf(!hasNginx)('deploy/nginx.conf', () => {
  let service: TestService;
  let owner: Owner;
  let robot: TestRobot;
  let nginx: Balancer;
  beforeAll(async () => {
    ({ service, owner, robot } = await startServiceWithRobot());
    const port = Number(new URL(service.url).port);
    nginx = await startNginx([port]);
  });
  afterAll(async () => {
    await nginx?.close();
    await service.close();
  });

  it('compresses responses that the service does not', async () => {
    const description = 'wet floor '.repeat(180);
    for (const title of ['Mop the lobby', 'Mop the stairs']) {
      await service.call('POST', '/api/v1/tasks', {
        apiKey: robot.apiKey,
        body: { title, description },
      });
    }

    const reply = await fetch(`${nginx.url}/api/v1/tasks`, {
      headers: { authorization: `Bearer ${robot.apiKey}` },
    });

    const body = Object(await reply.json());
    expect(reply.headers.get('content-encoding')).toBe('gzip');
    expect(body.items).toHaveLength(2);
  });

  it('compresses no response to a POST, because it may contain a key', async () => {
    const reply = await fetch(`${nginx.url}/api/v1/robots`, {
      method: 'POST',
      headers: {
        cookie: `svc_session=${owner.session}`,
        origin: service.url,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ name: 'arm-9', description: 'wet floor '.repeat(199) }),
    });

    const body = Object(await reply.json());
    expect([reply.status, reply.headers.get('content-encoding')]).toEqual([201, null]);
    expect(body.api_key).toMatch(/^svc_/);
  });

  it('hides the metrics with an error of the service', async () => {
    const reply = await fetch(`${nginx.url}/metrics`);

    expect(reply.headers.get('content-type')).toContain('application/json');
    expect([reply.status, Object(await reply.json()).error]).toEqual([404, 'not_found']);
    expect(reply.headers.get('x-ratelimit-limit')).toBe('600');
  });

  it('refuses connections of a source above its limit with an error of the service', async () => {
    const port = Number(new URL(service.url).port);
    const narrow = await startNginx([port, port, port], { ofSource: 2 });
    const end = new AbortController();
    const headers = { cookie: `svc_session=${owner.session}`, accept: 'text/event-stream' };
    const open = () => fetch(`${narrow.url}/api/v1/stream`, { headers, signal: end.signal });
    const held = [await open(), await open()];

    const reply = await fetch(`${narrow.url}/api/chain`);

    expect(held.map(({ status }) => status)).toEqual([200, 200]);
    expect([reply.status, Object(await reply.json()).error]).toEqual([503, 'overloaded']);
    expect(reply.headers.get('x-ratelimit-limit')).toBe('600');
    expect(reply.headers.get('retry-after')).toBe('5');
    end.abort();
    await narrow.close();
  });

  it('responds with the rate headers if the service cannot be reached', async () => {
    const alone = await startNginx([1, 1, 1]);
    const reply = await fetch(`${alone.url}/api/chain`);
    await alone.close();

    expect([reply.status, Object(await reply.json()).error]).toEqual([503, 'overloaded']);
    expect(reply.headers.get('x-ratelimit-limit')).toBe('600');
  });

  it('passes on the address of the client, whatever the client claims', async () => {
    const echo = createServer(({ headers }, response) => {
      response.end(headers['x-forwarded-for']);
    }).listen(0, '127.0.0.1');
    await once(echo, 'listening');
    const { port } = echo.address() as AddressInfo;
    const passing = await startNginx([port, port, port]);
    const seen = await callFrom('127.0.0.7', passing.url);
    await passing.close();
    echo.close();

    expect(seen).toEqual({ status: 200, body: '127.0.0.7' });
  });

  it('leaves room for others if one address holds connections with half a request head', async () => {
    const port = Number(new URL(service.url).port);
    const narrow = await startNginx([port, port, port], { ofAddress: 100, connections: 512 });
    const sockets = Array.from({ length: 500 }, () => {
      const { hostname: host, port } = new URL(narrow.url);
      const socket = connect({ host, port: Number(port), localAddress: '127.0.0.2' });
      socket.on('error', () => {}).write('GET /api/chain HTTP/1.1\r\nhost: x\r\n');
      return socket;
    });
    await waitFor('the refusals', () => sockets.filter(({ closed }) => closed).length === 400);

    const calls = Array.from({ length: 15 }, () =>
      callFrom('127.0.0.3', `${narrow.url}/api/chain`),
    );
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    for (const socket of sockets) socket.destroy();
    await narrow.close();

    expect(statuses).toEqual(Array(15).fill(200));
  });

  it('serves 500 robots with two connections each behind one address', async () => {
    const waiting: ServerResponse[] = [];
    const instance = createServer(({ url }, response) => {
      if (url !== '/waiting') response.end();
      else if (waiting.push(response) === 1000) for (const one of waiting) one.end();
    }).listen({ host: '127.0.0.1', port: 0, backlog: 2000 });
    await once(instance, 'listening');
    const { port } = instance.address() as AddressInfo;
    const shared = await startNginx([port, port, port]);
    // It answers when all of them are connected.
    const calls = Array.from({ length: 1000 }, () =>
      callFrom('127.0.0.4', `${shared.url}/waiting`),
    );
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    await shared.close();
    instance.close();

    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});

/** A call with an address of its own: Linux takes every address of 127.0.0.0/8 as its own. */
function callFrom(localAddress: string, url: string) {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const call = request(url, { localAddress, agent: false }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    });
    call.on('error', reject).end();
  });
}
