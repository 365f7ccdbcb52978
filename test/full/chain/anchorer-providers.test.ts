import { afterEach, describe, expect, it } from 'vitest';
import { type AnchoringRig, startAnchoringRig } from '../../support/anchoring-rig.ts';
import type { RpcProxy } from '../../support/rpc-proxy.ts';
import { waitFor } from '../../support/wait-for.ts';

let rig: AnchoringRig;

afterEach(() => rig.closeSound());

const proxy = (i: number) => rig.proxies[i] as RpcProxy;
const degradedBy = (reason: string) =>
  waitFor(`degraded: ${reason}`, async () => (await rig.degraded()).includes(reason));
const wellAgain = () => waitFor('no degradation', async () => (await rig.degraded()).length === 0);
const stateOf = async (id: string | undefined) => (await rig.task(id ?? '')).completion?.state;
const pending = (count: number) => rig.pending(count);

describe('an anchorer with three URLs', () => {
  it.each([
    ['ends connections', (one: RpcProxy) => one.cut()],
    ['is silent', (one: RpcProxy) => one.hang()],
    ['is rate limited', (one: RpcProxy) => one.fail(429, '', { 'retry-after': '30' })],
    ['answers HTML', (one: RpcProxy) => one.fail(200, '<html></html>')],
  ])('continues if one %s, and reports it', async (_what, misbehave) => {
    rig = await startAnchoringRig({ blockTime: 0.1 }, 3);
    rig.start();
    await rig.verified(await rig.queue());
    misbehave(proxy(1));

    await rig.verified(await rig.queue(3));

    await degradedBy('provider_unhealthy');
    expect(await rig.degraded()).toEqual(['provider_unhealthy']);
  });

  it('continues if one stays behind', async () => {
    rig = await startAnchoringRig({ blockTime: 0.1 }, 3);
    rig.start();
    await rig.verified(await rig.queue());
    proxy(0).intercept(({ method }) => {
      if (method === 'eth_blockNumber' || method === 'eth_getTransactionCount') {
        return { result: '0x0' };
      }
      return method === 'eth_getTransactionReceipt' ? { result: null } : null;
    });

    await rig.verified(await rig.queue(3));

    expect(await rig.degraded()).toEqual([]);
  });
});

describe('an anchorer with two URLs', () => {
  it('settles nothing because of one, and everything once both are back', async () => {
    rig = await startAnchoringRig({}, 2);
    rig.start();
    const ids = await rig.queue(2);
    await pending(1);
    proxy(1).cut();
    await rig.node.mine();
    await degradedBy('provider_unhealthy');
    expect(await stateOf(ids[0])).toBe('submitted');

    proxy(1).restore();

    await rig.verified(ids);
    await wellAgain();
    expect(await rig.minedAnchors()).toHaveLength(1);
  });

  it('brings its bytes to the chain although one URL accepts and drops them', async () => {
    rig = await startAnchoringRig({ blockTime: 0.1 }, 2);
    proxy(0).intercept(({ method }) =>
      method === 'eth_sendRawTransaction' ? { result: `0x${'00'.repeat(32)}` } : null,
    );
    rig.start();

    await rig.verified(await rig.queue(2));
  });

  it('offers its bytes again if both URLs accepted and dropped them', async () => {
    rig = await startAnchoringRig({ blockTime: 0.1 }, 2);
    for (const one of rig.proxies) {
      one.intercept(({ method }) =>
        method === 'eth_sendRawTransaction' ? { result: `0x${'00'.repeat(32)}` } : null,
      );
    }
    rig.start({ bumpAfterMs: 1_000 });
    const ids = await rig.queue();
    await waitFor('the attempt to be sent', async () => (await stateOf(ids[0])) === 'submitted');

    for (const one of rig.proxies) one.restore();

    await rig.verified(ids);
    expect(await rig.minedAnchors()).toHaveLength(1);
  });

  it('does not report the failure of one as a failure of the chain', async () => {
    rig = await startAnchoringRig({}, 2);
    proxy(0).intercept(({ method }) =>
      method === 'eth_estimateGas' ? { error: { code: 3, message: 'execution reverted' } } : null,
    );
    rig.start();
    const ids = await rig.queue();
    await pending(1);

    await rig.node.mine();

    await rig.verified(ids);
  });

  it('excludes one of another chain, and anchors again when it is correct', async () => {
    rig = await startAnchoringRig({ blockTime: 0.1 }, 2);
    rig.start();
    await rig.verified(await rig.queue());
    proxy(1).intercept(({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : null));
    await degradedBy('provider_wrong_chain');
    const ids = await rig.queue();
    await waitFor('the attempt to be sent', async () => (await stateOf(ids[0])) === 'submitted');

    proxy(1).restore();

    await rig.verified(ids);
    await wellAgain();
  });

  it('anchors again the proofs that a reorganization removed', async () => {
    rig = await startAnchoringRig({}, 2);
    rig.start();
    const ids = await rig.queue();
    await pending(1);
    await rig.node.mine();
    await rig.verified(ids);

    await rig.node.rpc('anvil_reorg', [1, []]);
    await waitFor('reorged', async () => (await stateOf(ids[0])) === 'reorged');
    await pending(1);
    await rig.node.mine();

    await waitFor('included again', async () => (await stateOf(ids[0])) === 'included');
    expect(await rig.minedAnchors()).toHaveLength(1);
  });
});
