import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startTestService, type TestService } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('network details and health', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ chain: 'mining' });
  });
  afterAll(() => service.close());

  it('cause one chain read per second, however often they are requested', async () => {
    const probe = vi.spyOn(service.store, 'probe');
    onTestFinished(() => probe.mockRestore());

    const begunAt = performance.now();
    await Promise.all(Array.from({ length: 50 }, () => service.call('GET', '/readyz')));
    const seconds = (performance.now() - begunAt) / 1000;
    const first = probe.mock.calls.length;
    expect(first).toBeLessThanOrEqual(2 + seconds);
    await waitFor('another reading', async () => {
      await service.call('GET', '/readyz');
      return probe.mock.calls.length > first;
    });
  });
});

it('respond within two seconds while the chain accepts connections but does not answer', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const never = new Promise<void>(() => {});
  const service = await startTestService({ rpcUrl: `http://127.0.0.1:${port}`, checked: never });
  onTestFinished(async () => {
    await service.close();
    silent.close();
  });

  const begunAt = performance.now();
  const ready = await service.call('GET', '/readyz');
  const seconds = (performance.now() - begunAt) / 1000;

  expect(ready.body.degraded).toEqual(['anchoring_not_started', 'chain_unreachable']);
  expect(seconds).toBeLessThan(3.5);
});
