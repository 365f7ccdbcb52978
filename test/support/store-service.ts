import { pino } from 'pino';
import type { Clock } from '../../src/base/clock.ts';
import { type Chain, openChain } from '../../src/chain/chain.ts';
import { buildApp } from '../../src/server/http/app.ts';
import type { Store } from '../../src/server/ports/store.ts';
import { network, testSettings } from './service.ts';
import { type Send, send } from './wire.ts';

export type StoreService = Awaited<ReturnType<typeof serveStore>>;

/**
 * The HTTP service over a store and a chain that answers as `reads` says; every other read of the chain fails, and
 * nothing is anchored.
 */
export async function serveStore(
  { store, clock }: { store: Store; clock: Clock },
  reads: Partial<Chain> = {},
) {
  const chain = openChain({ urls: [] });
  const stopping = new AbortController();
  const app = buildApp({
    store,
    chain: { ...chain, ...reads },
    clock,
    settings: testSettings(),
    keys: [],
    network: async () => network,
    webhooks: null,
    stopping: stopping.signal,
    logger: pino({ enabled: false }),
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    call: (method: string, path: string, sent?: Send) => send(url, method, path, sent),
    close: async () => {
      stopping.abort();
      await app.close();
      await chain.close();
    },
  };
}
