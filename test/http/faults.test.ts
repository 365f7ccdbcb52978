import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';

describe('what goes wrong inside', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.close());

  it('is told by the request id alone, and logged once with its stack', async () => {
    const { baseUrl } = service.settings;
    service.settings.baseUrl = 'no origin: secret';

    const headers = { 'x-request-id': 'lost-1', origin: baseUrl };
    const reply = await service.call('GET', '/healthz', { headers });

    service.settings.baseUrl = baseUrl;
    const lines = service.logLines.filter((line) => line.includes('"lost-1"'));
    expect(reply.status).toBe(500);
    expect(reply.body).toEqual({
      error: 'internal_error',
      message: 'Unexpected error. Give the operator the request id lost-1.',
    });
    expect(lines.filter((line) => line.includes('"stack"'))).toHaveLength(1);
  });
});

describe('a chain that never answers', () => {
  afterEach(() => void vi.useRealTimers());

  it('does not keep readiness waiting', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const service = await startTestService({ rpcUrl: `http://127.0.0.1:${port}` });
    // The first call makes a timer that fetch keeps.
    await service.call('GET', '/healthz');
    const asked = once(silent, 'connection');
    vi.useFakeTimers({ toFake: ['setTimeout'] });

    const ready = service.call('GET', '/readyz');
    await asked;
    // Less than the RPC's own time-out.
    vi.advanceTimersByTime(3_000);

    expect((await ready).body).toEqual({
      status: 'degraded',
      degraded: ['anchoring_not_started', 'chain_unreachable'],
    });
    await service.close();
    silent.close();
  });
});
