import { type Hex, parseTransaction } from 'viem';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnchoringRig, startAnchoringRig } from '../../support/anchoring-rig.ts';
import { waitFor } from '../../support/wait-for.ts';

let rig: AnchoringRig;

beforeEach(async () => {
  rig = await startAnchoringRig();
});
afterEach(() => rig.closeSound());

const pending = (count: number) => rig.pending(count);
const anchored = async () => {
  const ids = await rig.queue();
  await pending(1);
  await rig.node.mine();
  const [task] = await rig.verified(ids);
  return { id: ids[0] ?? '', receipt: task?.completion?.receipt };
};
const finality = (id: string, wanted: string) =>
  waitFor(`finality ${wanted}`, async () => {
    const { completion } = await rig.task(id);
    return completion?.receipt?.finality === wanted && completion;
  });
const reorganise = (depth: number) => rig.node.rpc('anvil_reorg', [depth, []]);
const feeOf = (rawTx: unknown) => parseTransaction(rawTx as Hex).maxFeePerGas ?? 0n;
/** Mines until that is so: a transaction is not stuck before a block has left it out. */
const mineUntil = (what: string, probe: () => Promise<boolean> | boolean) =>
  waitFor(
    what,
    async () => {
      await rig.node.mine();
      return probe();
    },
    20_000,
  );

describe('after a reorganisation', () => {
  it('gives way to its replacement where the price has risen above the mined one', async () => {
    rig.start({ bumpAfterMs: 500 });
    const { id, receipt } = await anchored();
    let floor: bigint | null = null;
    rig.proxy.intercept(({ method, params }) => {
      if (method !== 'eth_sendRawTransaction') return null;
      floor ??= feeOf(params[0]) + 1n;
      if (feeOf(params[0]) >= floor) return null;
      return { error: { code: -32000, message: 'max fee per gas less than block base fee' } };
    });

    await reorganise(1);
    await mineUntil('another receipt', async () => {
      const { completion } = await rig.task(id);
      return completion?.receipt?.txHash !== receipt?.txHash;
    });

    expect((await rig.minedAnchors()).map(({ nonce }) => nonce)).toEqual([0]);
  });

  it('offers the variant that was mined first, then its replacement', async () => {
    rig.start({ bumpAfterMs: 400 });
    const ids = await rig.queue();
    await pending(1);
    const first = (await rig.task(ids[0] ?? '')).completion?.txHash;
    const rawTx = await rig.node.rpc<Hex>('eth_getRawTransactionByHash', [first]);
    const offered: unknown[] = [];
    rig.proxy.intercept(({ method, params }) => {
      if (method !== 'eth_sendRawTransaction') return null;
      offered.push(params[0]);
      return { result: `0x${'00'.repeat(32)}` };
    });
    await rig.node.rpc('anvil_dropTransaction', [first]);
    await mineUntil('a replacement on its way', () => offered.some((one) => one !== rawTx));
    await rig.node.rpc('eth_sendRawTransaction', [rawTx]);
    await rig.node.mine();
    const [task] = await rig.verified(ids);
    expect(task?.completion?.receipt?.txHash).toBe(first);

    offered.length = 0;
    await reorganise(1);
    await waitFor('two offers', () => offered.length >= 2);

    expect(offered[0]).toBe(rawTx);
    expect(feeOf(offered[1])).toBeGreaterThan(feeOf(rawTx));
    rig.proxy.mend();
    await mineUntil('its block', async () => (await rig.minedAnchors()).length === 1);
    await finality(ids[0] ?? '', 'included');
  });
});

describe('an anchor that the chain has lost after it was final', () => {
  it('is mined again though a transaction from elsewhere below it is lost for good', async () => {
    rig.start();
    const [id = ''] = await rig.queue();
    await pending(1);
    await rig.node.rpc('anvil_dropTransaction', [(await rig.task(id)).completion?.txHash]);
    await rig.node.rpc('eth_sendTransaction', [{ from: rig.sender, to: rig.sender, nonce: '0x0' }]);
    for (let i = 0; i < 4; i += 1) await rig.node.mine();
    await waitFor(
      'its next generation',
      async () => (await rig.task(id)).completion?.attempts === 2,
    );
    await pending(1);
    for (let i = 0; i < 3; i += 1) await rig.node.mine();
    await finality(id, 'finalized');
    const [anchor] = await rig.minedAnchors();
    const head = Number(await rig.node.rpc<string>('eth_blockNumber'));

    await reorganise(head);
    await mineUntil('the anchor', async () => (await rig.minedAnchors()).length === 1);

    expect((await rig.minedAnchors()).map(({ nonce, hash }) => [nonce, hash])).toEqual([
      [1, anchor?.hash],
    ]);
    await mineUntil('no degradation', async () => (await rig.degraded()).length === 0);
  });
});

describe('a replacement', () => {
  it('is signed though faults come more often than it takes to be stuck', async () => {
    let signed = 0;
    rig.start({
      bumpAfterMs: 1_000,
      onStep: (step) => {
        if (step === 'variant_committed') signed += 1;
      },
    });
    await rig.queue(0);
    rig.proxy.intercept(({ method }) =>
      method === 'eth_sendRawTransaction' ? { result: `0x${'00'.repeat(32)}` } : null,
    );
    await rig.queue();
    let rounds = 0;
    let faults = 0;
    const fault = async () => {
      rig.proxy.fail(500);
      await waitFor('the fault', async () => (await rig.degraded()).includes('chain_unreachable'));
      rig.proxy.handle(async ({ calls, answer, forward }) => answer(await forward(calls)));
      await waitFor('its end', async () => (await rig.degraded()).length === 0);
      faults += 1;
    };

    await fault();
    await waitFor('a replacement', async () => {
      rounds += 1;
      if (rounds % 5 === 0) await fault();
      await rig.node.mine();
      return signed > 0;
    });

    expect(faults).toBeGreaterThan(0);
  });
});

describe('a replacement that the balance does not pay', () => {
  it('leaves the dearest that it pays to be sent again', async () => {
    rig.start({ bumpAfterMs: 400 });
    const ids = await rig.queue();
    await pending(1);
    const first = (await rig.task(ids[0] ?? '')).completion?.txHash;
    const rawTx = await rig.node.rpc<Hex>('eth_getRawTransactionByHash', [first]);
    const offered: unknown[] = [];
    rig.proxy.intercept(({ method, params }) => {
      if (method !== 'eth_sendRawTransaction') return null;
      offered.push(params[0]);
      return { result: `0x${'00'.repeat(32)}` };
    });
    await rig.node.rpc('anvil_dropTransaction', [first]);
    await mineUntil('a replacement on its way', () => offered.some((one) => one !== rawTx));
    const { gas = 0n, maxFeePerGas = 0n } = parseTransaction(rawTx);
    const balance = `0x${(gas * maxFeePerGas).toString(16)}`;
    await rig.node.rpc('anvil_setBalance', [rig.sender, balance]);

    rig.proxy.mend();
    await pending(1);
    await rig.node.mine();
    const [task] = await rig.verified(ids);

    expect(task?.completion?.receipt?.txHash).toBe(first);
  });
});
