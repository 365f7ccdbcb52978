import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { startTestService } from '../../support/service.ts';

describe('a chain that never answers', () => {
  afterEach(() => void vi.useRealTimers());

  it('does not delay the readiness check', async () => {
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
