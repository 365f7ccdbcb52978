// What an instance without work asks of its nodes.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type AnchoringRig, startAnchoringRig } from '../support/anchoring-rig.ts';
import { quickPauses } from '../support/quick-pauses.js';
import type { RpcProxy } from '../support/rpc-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

const gwei = 10n ** 9n;

let rig: AnchoringRig;

afterEach(async () => {
  vi.restoreAllMocks();
  await rig.closeSound();
});

/** An idle loop reads the chain once in so many ms. */
const startIdle = async (idleMs: number, { urls = 1, accounts = [0] } = {}) => {
  rig = await startAnchoringRig({}, urls);
  rig.start({ accounts, pauses: { ...quickPauses, idleMs } });
};
const anchored = async () => {
  const ids = await rig.queue();
  await rig.pending(1);
  for (let i = 0; i < 4; i += 1) await rig.node.mine();
  await rig.verified(ids);
  return ids;
};
/** Resolves once the loop has looked at its queue that many times. */
const looks = async (count: number) => {
  const before = looked.mock.calls.length;
  await waitFor('rounds of the loop', () => looked.mock.calls.length >= before + count);
};
let looked: ReturnType<typeof vi.spyOn>;
const calls = () => rig.proxies.map(({ asked }) => asked.methods.length);
/** Resolves when the anchor is final and the loop has asked nothing during ten looks at its queue. */
const idle = async () => {
  looked = vi.spyOn(rig.store, 'listQueuedProofs');
  await waitFor('an idle loop', async () => {
    const before = calls();
    await looks(10);
    return calls().every((count, i) => count === before[i]);
  });
};
/** The calls of each request from now on. */
const requestsOf = (proxy: RpcProxy) => {
  const requests: string[][] = [];
  proxy.handle(async ({ calls, forward, answer }) => {
    requests.push(calls.map(({ method }) => method));
    answer(await forward(calls));
  });
  return requests;
};

describe('an idle instance', () => {
  it.each([
    ['with one account', [0]],
    ['with three accounts', [0, 1, 2]],
  ])(
    '%s makes no call in a minute, however many blocks arrive (of our own)',
    async (_, accounts) => {
      await startIdle(60_000, { urls: 2, accounts });
      await anchored();
      await idle();
      const before = calls();

      for (let i = 0; i < 20; i += 1) {
        await rig.node.mine();
        await looks(2);
      }

      expect(calls()).toEqual(before);
    },
  );

  it('makes six calls in each reading, the chain among them (of our own)', async () => {
    await startIdle(300);
    await anchored();
    const requests = requestsOf(rig.proxy);
    const areSix = (some: string[][]) => some.every(({ length }) => length === 6);
    await waitFor('an idle loop', () => requests.length > 4 && areSix(requests.slice(-4)));
    requests.length = 0;

    await waitFor('more readings', () => requests.length >= 4);

    const last = [...requests];
    expect(areSix(last)).toBe(true);
    expect(last.every(([first]) => first === 'eth_chainId')).toBe(true);
    expect(new Set(last.flat())).toContain('eth_getBalance');
    expect(new Set(last.flat())).toContain('eth_estimateGas');
  });

  it('signs its first proof after one reading of the chain (of our own)', async () => {
    await startIdle(60_000);
    await anchored();
    await idle();
    await rig.node.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(50n * gwei).toString(16)}`]);
    await rig.node.mine();
    const requests = requestsOf(rig.proxy);

    const ids = await rig.queue();
    await rig.pending(1);

    const sends = requests.findIndex((one) => one.includes('eth_sendRawTransaction'));
    const read = requests.slice(0, sends).filter((one) => one.includes('eth_estimateGas'));
    expect(read).toHaveLength(1);
    expect(read[0]).toContain('eth_chainId');
    const content = await rig.node.rpc<{
      pending: Record<string, Record<string, { maxFeePerGas: string }>>;
    }>('txpool_content');
    const [[tx] = []] = Object.values(content.pending).map((one) => Object.values(one));
    expect(BigInt(tx?.maxFeePerGas ?? 0)).toBeGreaterThan(80n * gwei);
    await rig.node.mine();
    await rig.verified(ids);
  });

  it('signs nothing on a chain that replaced its own (of our own)', async () => {
    await startIdle(60_000);
    await anchored();
    await idle();
    const genesis = { number: '0x0', hash: `0x${'ee'.repeat(32)}`, timestamp: '0x0' };
    rig.proxy.intercept(({ params }) => (params[0] === '0x0' ? { result: genesis } : null));
    rig.proxy.asked.methods.length = 0;

    const ids = await rig.queue();
    await waitFor('the mismatch', async () => (await rig.degraded()).includes('chain_mismatch'));

    expect(rig.proxy.asked.methods).not.toContain('eth_sendRawTransaction');
    rig.proxy.restore();
    await rig.pending(1);
    await rig.node.mine();
    await rig.verified(ids);
  });

  it('finds a proof whose notification was lost (of our own)', async () => {
    await startIdle(60_000);
    vi.spyOn(rig.store, 'waitForQueuedProof').mockImplementation(() => new Promise(() => {}));
    await anchored();
    await idle();

    await anchored();
  });

  it('notices within two readings that its account was funded (of our own)', async () => {
    rig = await startAnchoringRig();
    await rig.node.rpc('anvil_setBalance', [rig.sender, '0x0']);
    rig.start({ pauses: { ...quickPauses, idleMs: 300 } });
    await waitFor('the hold', async () => (await rig.degraded()).includes('underfunded'));

    await rig.node.rpc('anvil_setBalance', [rig.sender, '0xde0b6b3a7640000']);

    await waitFor('recovery', async () => (await rig.degraded()).length === 0);
  });
});
