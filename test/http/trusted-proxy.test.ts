import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

describe('the address of a caller in the log', () => {
  let service: TestService;
  let proxy: Server | undefined;
  afterEach(async () => {
    proxy?.close();
    proxy = undefined;
    await service.close();
  });

  /** Forwards requests from 127.0.0.1, and appends the address of the client to X-Forwarded-For as proxies do. */
  async function startProxy(callers: string): Promise<string> {
    proxy = createServer((incoming, answer) => {
      const before = incoming.headers['x-forwarded-for'];
      const said = before === undefined ? callers : `${before}, ${callers}`;
      const headers = { ...incoming.headers, 'x-forwarded-for': said, connection: 'close' };
      const { method } = incoming;
      const passed = request(`${service.url}${incoming.url}`, { method, headers }, (reply) => {
        answer.writeHead(reply.statusCode ?? 502, reply.headers);
        reply.pipe(answer);
      });
      incoming.pipe(passed);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  }

  /** What the log says after one call. */
  async function addressOf(url: string, headers: Record<string, string> = {}): Promise<unknown> {
    const id = 'the-call';
    await fetch(`${url}/nowhere`, { headers: { ...headers, 'x-request-id': id } });
    const line = await waitFor('the line of the log', () =>
      service.logLines.find((one) => one.includes('"answered"') && one.includes(id)),
    );
    return JSON.parse(line).address;
  }

  it('causes one warning if an untrusted peer states another address', async () => {
    service = await startTestService();

    for (let i = 0; i < 2; i += 1) {
      await addressOf(service.url, { 'x-forwarded-for': '203.0.113.7' });
    }

    const warnings = service.logLines.filter((line) => line.includes('ignored X-Forwarded-For'));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('SVC_TRUST_PROXY');
  });

  it('is the address that a trusted proxy states', async () => {
    service = await startTestService({ trustedProxies: ['127.0.0.0/8'] });

    expect(await addressOf(await startProxy('203.0.113.7'))).toBe('203.0.113.7');
  });

  it('is not the address that the caller sent to the proxy', async () => {
    service = await startTestService({ trustedProxies: ['127.0.0.1'] });
    const forged = { 'x-forwarded-for': '198.51.100.1' };

    expect(await addressOf(await startProxy('203.0.113.7'), forged)).toBe('203.0.113.7');
  });

  it('is the address of the proxy if only another one is trusted', async () => {
    service = await startTestService({ trustedProxies: ['10.0.0.0/8'] });

    expect(await addressOf(await startProxy('203.0.113.7'))).toBe('127.0.0.1');
  });

  it('is the address of the connection if no proxy is trusted', async () => {
    service = await startTestService();

    expect(await addressOf(service.url, { 'x-forwarded-for': '203.0.113.7' })).toBe('127.0.0.1');
  });
});
