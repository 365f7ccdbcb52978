import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

describe('network details and health', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ chain: 'mining' });
  });
  afterAll(() => service.close());

  it('describe the chain in the format of wallets', async () => {
    const reply = await service.call('GET', '/api/chain');

    expect(reply.body).toEqual({
      chain_id: 31337,
      name: 'Test chain',
      testnet: true,
      explorer_url: 'https://explorer.test',
      params: {
        chainId: '0x7a69',
        chainName: 'Test chain',
        nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
        rpcUrls: ['https://rpc.test'],
        blockExplorerUrls: ['https://explorer.test'],
      },
      anchor_addresses: ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'],
    });
  });

  it('are up and ready', async () => {
    const health = await service.call('GET', '/healthz');
    const ready = await service.call('GET', '/readyz');

    expect(health.body).toEqual({ status: 'up' });
    expect(ready.status).toBe(200);
    expect(ready.body).toEqual({ status: 'ready', degraded: [] });
  });

  it('are degraded, but ready, without the chain', async () => {
    const chainless = await startTestService({ chain: 'mining' });
    onTestFinished(chainless.close);
    await chainless.endChain();

    const ready = await chainless.call('GET', '/readyz');

    expect(ready.status).toBe(200);
    expect(ready.body.status).toBe('degraded');
    expect(ready.body.degraded).toContain('chain_unreachable');
  });

  it('tell an account what is degraded, and since when its proofs wait', async () => {
    const chainless = await startTestService({ chain: 'mining', settings: { anchorTimeoutMs: 1 } });
    onTestFinished(chainless.close);
    const { owner, robot } = await chainless.signInWithRobot();
    const other = await chainless.signIn();
    await chainless.endChain();
    const taskId = await chainless.claim(robot);
    expect((await chainless.complete(robot, taskId)).body.error).toBe('anchor_queued');
    const read = (path: string, { session }: { session: string }) =>
      chainless.call('GET', `/api/v1/${path}`, { session });
    const { anchor } = (await read(`tasks/${taskId}`, owner)).body;

    const { body } = await read('service-status', owner);

    expect(body.degraded).toContain('chain_unreachable');
    expect(body.waiting).toEqual({ proofs: 1, since: anchor.updated_at });
    const none = { proofs: 0, since: null };
    expect((await read('service-status', other)).body.waiting).toEqual(none);
  });

  it('are not ready while the server stops', async () => {
    const stopping = await startTestService();
    onTestFinished(stopping.close);
    stopping.stopping.abort();

    const ready = await stopping.call('GET', '/readyz');

    expect(ready.status).toBe(503);
    expect(ready.body.error).toBe('storage_unavailable');
  });
});

describe('without a database', () => {
  it('every answer reports it, and none claims success', async () => {
    const service = await startTestService();
    const owner = await service.signIn();
    const robot = await service.makeRobot(owner);
    await service.store.close();

    const ready = await service.call('GET', '/readyz');
    const claim = await service.call('POST', '/api/v1/tasks', {
      apiKey: robot.apiKey,
      body: { title: 'Sort' },
    });

    expect(ready.status).toBe(503);
    expect(ready.body.error).toBe('storage_unavailable');
    expect(claim.body.error).toBe('storage_unavailable');
    const logged = () => service.logLines.filter((line) => line.includes('storage unavailable'));
    await waitFor('the log', () => logged().length === 2);
    for (const line of logged()) {
      expect(JSON.parse(line)).toMatchObject({ level: 40, reason: expect.any(String) });
      expect(line).not.toContain('"stack"');
    }
    await service.close();
  });
});
