import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import { type ProxiedChain, startProxiedChain } from '../support/proxied-chain.ts';

let proxied: ProxiedChain;

beforeAll(async () => {
  proxied = await startProxiedChain();
});
afterAll(() => proxied.close());

it('reads many blocks from a provider that accepts only small batches', async () => {
  const { node, proxy, chain } = proxied;
  const identity = await chain.anchoring.identity();
  await node.rpc('anvil_mine', ['0x1e']);
  const places = await Promise.all(
    Array.from({ length: 30 }, async (_, i) => {
      const number = `0x${(i + 1).toString(16)}`;
      const { hash } = await node.rpc<{ hash: Hex }>('eth_getBlockByNumber', [number, false]);
      return { id: number, txHash: hash, blockNumber: BigInt(number), blockHash: hash };
    }),
  );
  proxy.handle(async ({ calls, response, answer, forward }) => {
    if (calls.length <= 10) return answer(await forward(calls));
    response.end(JSON.stringify({ error: { code: -32600, message: 'batch too large' } }));
  });

  const { heads, inclusions } = await chain.anchoring.readInclusion({ identity, places });

  expect(heads.head).toBe(30n);
  expect(inclusions.map(({ standing }) => standing)).toEqual(places.map(() => 'canonical'));
});
