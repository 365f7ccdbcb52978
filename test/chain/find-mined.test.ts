import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type OpenChain, openChain } from '../../src/chain/chain.ts';
import { ProviderError } from '../../src/chain/errors.ts';
import type { MinedTransaction, SentAnchor } from '../../src/chain/find-mined.ts';
import type { Identity } from '../../src/chain/identity.ts';
import { type AnchorKey, loadAnchorKey } from '../../src/chain/keys/anchor-key.ts';
import type { Hex } from '../../src/proof/bytes.ts';
import { anvilAccounts, type TestChain } from '../support/anvil.ts';
import { type ProxiedChain, startProxiedChain } from '../support/proxied-chain.ts';
import type { Exchange, RpcProxy } from '../support/rpc-proxy.ts';

const payload: Hex = `0x${'ab'.repeat(68)}`;

let proxied: ProxiedChain;
let node: TestChain;
let proxy: RpcProxy;
let chain: OpenChain;
let key: AnchorKey;
let identity: Identity;
let anchor: SentAnchor;

beforeAll(async () => {
  proxied = await startProxiedChain();
  ({ node, proxy, chain } = proxied);
  key = await loadAnchorKey({ privateKey: anvilAccounts[0].privateKey });
  identity = await chain.anchoring.identity();
  anchor = await sign(0);
  await chain.anchoring.broadcast(anchor.variants[0]?.rawTx ?? '0x');
  await node.mine();
  await node.mine();
});

afterEach(() => proxy.restore());

afterAll(() => proxied.close());

const terms = { chainId: 31337, payload, gas: 60_000n };

async function sign(nonce: number): Promise<SentAnchor> {
  const variant = await key.signTransaction({
    ...terms,
    nonce,
    maxFeePerGas: 10_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
  });
  return { id: `anchor ${nonce}`, payload, variants: [variant] };
}

const find = (anchors: SentAnchor[], confirmations = 1n) =>
  chain.anchoring.findMined({ identity, sender: key.address, anchors, confirmations });

/** Changes what the node answers to a method. */
async function change(method: string, params: unknown[], changes: object): Promise<void> {
  const answer = await node.rpc<object>(method, params);
  proxy.intercept((call) =>
    call.method === method && call.params[0] === params[0]
      ? { result: { ...answer, ...changes } }
      : null,
  );
}

describe('findMined', () => {
  it('returns the place of each mined anchor, and omits the others', async () => {
    const found = await find([anchor, await sign(7)]);

    expect(found.headNumber).toBe(2n);
    expect(found.mined).toMatchObject([
      { id: 'anchor 0', outcome: 'success', mined: { blockNumber: 1n, txIndex: 0 } },
    ]);
  });

  it('reads only the receipt of an anchor that is not deep enough', async () => {
    proxy.asked.methods.length = 0;

    const found = await find([anchor], 3n);

    expect(found.mined).toEqual([{ id: 'anchor 0', outcome: 'shallow', blockNumber: 1n }]);
    expect(proxy.asked.methods).not.toContain('eth_getTransactionByHash');
  });

  it('splits many anchors into several small requests', async () => {
    const many = await Promise.all(Array.from({ length: 110 }, (_, i) => sign(100 + i)));
    const [requests, calls] = [proxy.asked.requests, proxy.asked.methods.length];

    const found = await find([anchor, ...many]);

    expect(found.mined).toHaveLength(1);
    const asked = proxy.asked.methods.slice(calls);
    expect(asked.filter((method) => method === 'eth_getTransactionReceipt')).toHaveLength(111);
    // Five for the receipts, one for the details of the one that is mined.
    expect(proxy.asked.requests - requests).toBe(6);
  });

  it('counts one call for each variant', async () => {
    const fees = Array.from({ length: 60 }, (_, i) => 10_000_000_000n + BigInt(i));
    const variants = await Promise.all(
      fees.map((maxFeePerGas) =>
        key.signTransaction({ ...terms, nonce: 200, maxFeePerGas, maxPriorityFeePerGas: 1n }),
      ),
    );
    let largest = 0;
    proxy.handle(async ({ calls, answer, forward }) => {
      largest = Math.max(largest, calls.length);
      answer(await forward(calls));
    });

    const found = await find([{ id: 'many', payload, variants }, anchor]);

    expect(found.mined).toMatchObject([{ id: 'anchor 0', outcome: 'success' }]);
    expect(largest).toBeLessThanOrEqual(28);
  });

  const refusal = { code: -32600, message: 'batch too large' };
  it.each<[string, (exchange: Exchange) => void]>([
    ['the whole batch', ({ response }) => response.end(JSON.stringify({ error: refusal }))],
    ['each call', ({ calls, answer }) => answer(calls.map(() => ({ error: refusal })))],
    ['with a status', ({ response }) => response.writeHead(413).end()],
  ])('asks for less if a provider finds a batch too large, refusing %s', async (_, refuse) => {
    const many = await Promise.all(Array.from({ length: 30 }, (_, i) => sign(100 + i)));
    const other = openChain({ urls: [proxy.url] });
    let refused = 0;
    proxy.handle(async (exchange) => {
      const { calls, answer, forward } = exchange;
      if (calls.length <= 10) return answer(await forward(calls));
      refused += 1;
      refuse(exchange);
    });
    const search = { identity, sender: key.address, anchors: [anchor, ...many], confirmations: 1n };

    const found = await other.anchoring.findMined(search);
    const once = refused;
    await other.anchoring.findMined(search);
    await other.close();

    expect(found.mined).toMatchObject([{ id: 'anchor 0', outcome: 'success' }]);
    expect(once).toBeGreaterThan(0);
    expect(refused).toBe(once);
  });

  it.each([
    ['its price is above the signed one', { effectiveGasPrice: `0x${'f'.repeat(64)}` }],
    ['its gas is above the signed limit', { gasUsed: '0xea61' }],
  ])('rejects the cost in a receipt if %s', async (_what, lie) => {
    await change('eth_getTransactionReceipt', [anchor.variants[0]?.txHash], lie);

    const { mined } = await find([anchor]);

    expect(mined).toMatchObject([{ outcome: 'success', mined: { isReported: false } }]);
    const cost = (mined[0] as { mined: MinedTransaction }).mined;
    expect(cost.effectiveGasPrice).toBeLessThanOrEqual(10_000_000_000n);
    expect(cost.gasUsed).toBeLessThanOrEqual(terms.gas);
  });

  it.each([
    ['number', { number: '0x2' }],
    ['time', { timestamp: '0x1fffffffffffff' }],
  ])('rejects a block with an impossible %s', async (_what, lie) => {
    await change('eth_getBlockByNumber', ['0x1', false], lie);

    await expect(find([anchor])).rejects.toThrow(ProviderError);
  });

  it('finds nothing on another chain of the same id', async () => {
    await change('eth_getBlockByNumber', ['0x0', false], { hash: `0x${'ee'.repeat(32)}` });

    await expect(find([anchor])).rejects.toMatchObject({ code: 'chain_mismatch' });
  });
});
