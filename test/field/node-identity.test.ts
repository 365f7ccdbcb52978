// What nodes and providers really show of the block that identifies their chain.
import { afterEach, describe, expect, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import { type AnchoringRig, startAnchoringRig } from '../support/anchoring-rig.ts';
import { refuses } from '../support/node-behavior.ts';
import type { Answer, RpcProxy } from '../support/rpc-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

let rig: AnchoringRig;

afterEach(() => rig.closeSound());

const begin = async (urls: number, blocks: number) => {
  rig = await startAnchoringRig({}, urls);
  for (let i = 0; i < blocks; i += 1) await rig.node.mine();
};
/** Answers a block in place of the node. */
const show = (proxy: RpcProxy, number: Hex, answer: Answer) =>
  proxy.intercept(({ method, params }) =>
    method === 'eth_getBlockByNumber' && params[0] === number ? answer : null,
  );
const header = (number: Hex, hash: string): Answer => ({
  result: { number, hash, timestamp: '0x1', transactions: [] },
});
const anchored = async () => {
  const ids = await rig.queue();
  await rig.pending(1);
  await rig.node.mine();
  return rig.verified(ids);
};
const hashOf = async (number: number | undefined) =>
  (await rig.node.rpc<{ hash: Hex }>('eth_getBlockByNumber', [`0x${number?.toString(16)}`, false]))
    .hash;

const unreadable: { name: string; report: string; answer: Answer }[] = [
  { name: 'has no block 0', report: 'frontier 78, base 3836', answer: { result: null } },
  {
    name: 'shows block 1 in place of block 0',
    report: 'frontier 78',
    answer: header('0x1', `0x${'ab'.repeat(32)}`),
  },
  {
    name: 'has pruned block 0',
    report: 'go-ethereum 31939',
    answer: refuses('pruned history unavailable', 4444),
  },
  {
    name: 'does not find the header of block 0',
    report: 'of our own',
    answer: refuses('header not found'),
  },
];

describe('a node that, at the first contact,', () => {
  it.each(unreadable)('$name is identified by a final block ($report)', async ({ answer }) => {
    await begin(1, 6);
    show(rig.proxy, '0x0', answer);
    const first = rig.start();

    await anchored();

    const bound = await rig.store.getChainIdentity();
    expect(bound?.blockNumber).toBeGreaterThan(0);
    expect(bound?.blockHash).toBe(await hashOf(bound?.blockNumber));
    await first.drain();
    rig.proxy.restore();
    rig.start();
    await anchored();
    expect(await rig.store.getChainIdentity()).toEqual(bound);
  });

  it('lacks block 0 while the other shows it is used like the other (of our own)', async () => {
    await begin(2, 6);
    show(rig.proxy, '0x0', { result: null });
    rig.start();

    await anchored();

    expect((await rig.store.getChainIdentity())?.blockNumber).toBeGreaterThan(0);
    // Between two of its looks, a node can show fewer transactions than the block that was found.
    await waitFor('no reason', async () => (await rig.degraded()).length === 0);
  });

  it('has neither block 0 nor a final block is asked again (of our own)', async () => {
    await begin(1, 0);
    show(rig.proxy, '0x0', { result: null });
    const before = rig.proxy.asked.requests;
    rig.start();
    await waitFor('some requests', () => rig.proxy.asked.requests >= before + 4);
    expect(await rig.store.getChainIdentity()).toBeNull();

    for (let i = 0; i < 6; i += 1) await rig.node.mine();

    await anchored();
  });

  it('limits the rate is not bound (of our own)', async () => {
    await begin(1, 6);
    show(rig.proxy, '0x0', refuses('rate limit exceeded', 429));
    const before = rig.proxy.asked.requests;
    rig.start();
    await waitFor('some requests', () => rig.proxy.asked.requests >= before + 4);
    expect(await rig.store.getChainIdentity()).toBeNull();

    rig.proxy.restore();

    await anchored();
    expect((await rig.store.getChainIdentity())?.blockNumber).toBe(0);
  });
});

describe('a provider that no longer shows the bound block', () => {
  it.each(unreadable)(
    'and $name is not used, and not reported as wrong ($report)',
    async ({ answer }) => {
      await begin(3, 0);
      const first = rig.start();
      await anchored();
      const bound = await rig.store.getChainIdentity();
      expect(bound?.blockNumber).toBe(0);
      await first.drain();
      const [lost] = rig.proxies as [RpcProxy];
      show(lost, '0x0', answer);
      lost.asked.methods.length = 0;
      rig.start();
      await waitFor('the degradation', async () =>
        (await rig.degraded()).includes('provider_unhealthy'),
      );

      await anchored();

      expect(await rig.degraded()).not.toContain('provider_wrong_chain');
      expect(lost.asked.methods).not.toContain('eth_sendRawTransaction');
      lost.restore();
      await waitFor('recovery', async () => (await rig.degraded()).length === 0);
      expect(await rig.store.getChainIdentity()).toEqual(bound);
    },
  );
});

describe('a chain that was bound by a final block', () => {
  it('is distinguished from another chain with the same id (of our own)', async () => {
    await begin(1, 6);
    show(rig.proxy, '0x0', { result: null });
    const first = rig.start();
    await anchored();
    const bound = await rig.store.getChainIdentity();
    await first.drain();
    const number: Hex = `0x${(bound?.blockNumber ?? 0).toString(16)}`;
    show(rig.proxy, number, header(number, `0x${'ee'.repeat(32)}`));

    rig.start();

    await waitFor('the mismatch', async () => (await rig.degraded()).includes('chain_mismatch'));
  });
});
