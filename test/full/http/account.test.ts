import { describe, expect, it } from 'vitest';
import { holdTimers } from '../../support/held-timers.ts';
import { startRpcProxy } from '../../support/rpc-proxy.ts';
import { startTestService } from '../../support/service.ts';

describe('the gate in GET /me', () => {
  const token = `0x${'11'.repeat(20)}`;

  it.each(['hang', 'cut'] as const)(
    'is reported as not met without delay while the chain %ss',
    async (fault) => {
      const proxy = await startRpcProxy('http://127.0.0.1:9');
      const service = await startTestService({ rpcUrl: proxy.url });
      try {
        const { session } = await service.signIn();
        service.settings.gate = { token, minBalance: 1n };
        proxy[fault]();
        // The RPC's own time-out.
        holdTimers(10_000);

        const reply = await service.call('GET', '/api/v1/me', { session });

        expect(reply.body.gate).toEqual({ required: true, holds: false });
      } finally {
        await service.close();
        await proxy.close();
      }
    },
  );
});
