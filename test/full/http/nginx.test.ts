import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Balancer } from '../../support/balancer.ts';
import { startNginx } from '../../support/nginx.ts';
import { findProgram, needsProgram } from '../../support/require-program.ts';
import {
  type Owner,
  startServiceWithRobot,
  type TestRobot,
  type TestService,
} from '../../support/service.ts';

const hasNginx = findProgram('nginx') !== null;

it.skipIf(hasNginx)('deploy/nginx.conf', (context) => void needsProgram(context, 'nginx'));

describe.skipIf(!hasNginx)('deploy/nginx.conf', () => {
  let service: TestService;
  let owner: Owner;
  let robot: TestRobot;
  let nginx: Balancer;
  beforeAll(async () => {
    ({ service, owner, robot } = await startServiceWithRobot());
    const port = Number(new URL(service.url).port);
    nginx = await startNginx([port, port, port]);
  });
  afterAll(async () => {
    await nginx?.close();
    await service.close();
  });

  it('compresses what the service does not', async () => {
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

  it('compresses no answer to a POST, because it may have a key', async () => {
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

  it('refuses the connections of a source above its limit in the form of the service', async () => {
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

  it('answers with the rate headers when the service cannot be reached', async () => {
    const alone = await startNginx([1, 1, 1]);
    const reply = await fetch(`${alone.url}/api/chain`);
    await alone.close();

    expect([reply.status, Object(await reply.json()).error]).toEqual([503, 'overloaded']);
    expect(reply.headers.get('x-ratelimit-limit')).toBe('600');
  });
});
