import { type Hex, parseTransaction } from 'viem';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
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

/** Reorganises the whole chain, and expects the same transaction in a block again, with nonce 1. */
async function expectSameAnchorAgain(hash: string | undefined): Promise<void> {
  await reorganise(Number(await rig.node.rpc<string>('eth_blockNumber')));
  await mineUntil('the anchor', async () => (await rig.minedAnchors()).length === 1);

  const anchors = await rig.minedAnchors();
  expect(anchors.map((anchor) => [anchor.nonce, anchor.hash])).toEqual([[1, hash]]);
  await mineUntil('no degradation', async () => (await rig.degraded()).length === 0);
}

describe('after a reorganization', () => {
  it('is replaced if the price has risen above that of the mined one', async () => {
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
    rig.proxy.restore();
    await mineUntil('its block', async () => (await rig.minedAnchors()).length === 1);
    await finality(ids[0] ?? '', 'included');
  });

  it('reports no conflict because of an earlier transaction count', async () => {
    rig.start();
    const { id } = await anchored();
    let [isCounted, isDone] = [false, false];
    // Once an estimate has counted it, before the look at what became of its block.
    rig.proxy.handle(async ({ calls, answer, forward }) => {
      if (isCounted && !isDone && calls.some(({ params }) => params[0] === 'finalized')) {
        isDone = true;
        await reorganise(1);
      }
      isCounted ||= calls.some(({ method }) => method === 'eth_estimateGas');
      answer(await forward(calls));
    });
    await finality(id, 'reorged');
    await pending(1);

    await rig.node.mine();
    await finality(id, 'included');

    expect(rig.log.join('')).not.toContain('nonce_conflict');
  });
});

describe('an anchor that the chain lost after it was final', () => {
  it('is sent again, and anchoring continues after it', async () => {
    rig.start();
    const { id, receipt } = await anchored();
    await rig.node.mine();
    await rig.node.mine();
    await finality(id, 'finalized');

    await reorganise(3);
    await pending(1);
    const next = await rig.queue();
    await mineUntil('the next anchor', async () => {
      return (await rig.task(next[0] ?? '')).status === 'verified';
    });

    const mined = await rig.minedAnchors();
    expect(mined.map(({ nonce }) => nonce)).toEqual([0, 1]);
    expect(mined[0]?.hash).toBe(receipt?.txHash);
    await waitFor('no degradation', async () => (await rig.degraded()).length === 0);
  });

  it('has its new place in the receipt, and becomes final again', async () => {
    rig.start();
    const { id, receipt } = await anchored();
    await rig.node.mine();
    await rig.node.mine();
    await finality(id, 'finalized');

    await reorganise(3);
    await finality(id, 'reorged');
    await mineUntil('its new block', async () => (await rig.minedAnchors()).length === 1);
    await mineUntil('finality', async () => {
      const { completion } = await rig.task(id);
      return completion?.receipt?.finality === 'finalized';
    });

    const [anchor] = await rig.minedAnchors();
    const { completion } = await rig.task(id);
    expect(completion?.receipt?.blockNumber).toBe(BigInt(anchor?.blockNumber ?? -1));
    expect(completion?.receipt?.blockNumber).toBeGreaterThan(receipt?.blockNumber ?? 0n);
  });

  it('is mined again although a foreign transaction below it is lost for good', async () => {
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
    await expectSameAnchorAgain(anchor?.hash);
  });

  it('is mined again although earlier transactions of the account are lost for good', async () => {
    await rig.node.rpc('eth_sendTransaction', [{ from: rig.sender, to: rig.sender, nonce: '0x0' }]);
    await rig.node.mine();
    rig.start();
    const { receipt } = await anchored();
    await expectSameAnchorAgain(receipt?.txHash);
  });

  it('waits for a lower transaction that a pool holds', async () => {
    const fees = { maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x1' };
    const below = { from: rig.sender, to: rig.sender, nonce: '0x0', ...fees };
    await rig.node.rpc('eth_sendTransaction', [below]);
    await rig.node.mine();
    rig.start();
    await anchored();
    const head = Number(await rig.node.rpc<string>('eth_blockNumber'));
    rig.proxy.cut();
    await reorganise(head);
    const txHash = await rig.node.rpc<string>('eth_sendTransaction', [below]);

    rig.proxy.restore();
    await pending(2);
    const estimates = () =>
      rig.proxy.asked.methods.filter((one) => one === 'eth_estimateGas').length;
    const before = estimates();
    await waitFor('more estimates', () => estimates() >= before + 4);
    await rig.node.mine();

    expect(await rig.minedAnchors()).toHaveLength(1);
    const { blockNumber } = await rig.node.rpc<{ blockNumber: string | null }>(
      'eth_getTransactionByHash',
      [txHash],
    );
    expect(blockNumber).not.toBeNull();
    await mineUntil('no degradation', async () => (await rig.degraded()).length === 0);
  });
});

describe('a node without receipts', () => {
  it('still gets the bytes', async () => {
    const first = rig.start({
      onStep: (step) => {
        if (step !== 'attempt_committed') return;
        void first.drain();
        throw new Error('nothing after this step is done');
      },
    });
    const ids = await rig.queue();
    await waitFor('the commit', async () => {
      return (await rig.task(ids[0] ?? '')).completion?.state === 'submitted';
    });
    await first.drain();
    rig.proxy.intercept(({ method }) =>
      method === 'eth_getTransactionReceipt'
        ? { error: { code: -32000, message: 'transaction indexing is in progress' } }
        : null,
    );

    rig.start();
    await pending(1);

    rig.proxy.restore();
    await rig.node.mine();
    await rig.verified(ids);
  });
});

describe('a replacement', () => {
  it('is offered immediately although a node is slow with the previous one', async () => {
    const offered: unknown[] = [];
    let signed = 0;
    // The clock stands from the first offer to the second, and from the replacement on.
    const now = performance.now.bind(performance);
    let standsAt: number | null = null;
    vi.spyOn(performance, 'now').mockImplementation(() => standsAt ?? now() + 500);
    onTestFinished(() => void vi.restoreAllMocks());
    rig.start({
      bumpAfterMs: 400,
      onStep: (step) => {
        // The same bytes are due again, their replacement is not.
        if (step === 'broadcast_sent' && offered.length === 1) standsAt = now() + 500 + 450;
        if (step !== 'variant_committed') return;
        signed += 1;
        // Nothing is due later any more, only at once.
        standsAt = performance.now();
      },
    });
    await rig.queue(0);
    rig.proxy.handle(async ({ calls, answer, forward }) => {
      const send = calls.find(({ method }) => method === 'eth_sendRawTransaction');
      if (send === undefined) return answer(await forward(calls));
      const isFirst = offered.length === 0;
      offered.push(send.params[0]);
      // Slow over the first variant, from its second offer on, until its replacement is signed.
      if (!isFirst && send.params[0] === offered[0]) {
        standsAt = null;
        await waitFor('a replacement', () => signed > 0);
      }
      answer([{ result: `0x${'00'.repeat(32)}` }]);
    });
    await rig.queue();

    await mineUntil('its offer', () => offered.some((rawTx) => rawTx !== offered[0]));

    expect(offered.filter((rawTx) => rawTx === offered[0]).length).toBeGreaterThan(1);
    expect(feeOf(offered.at(-1))).toBeGreaterThan(feeOf(offered[0]));
  });

  it('is signed although errors occur more often than the stuck time-out', async () => {
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

describe('a replacement that exceeds the balance', () => {
  it('leaves the most expensive affordable variant to be sent again', async () => {
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

    rig.proxy.restore();
    await pending(1);
    await rig.node.mine();
    const [task] = await rig.verified(ids);

    expect(task?.completion?.receipt?.txHash).toBe(first);
  });
});

describe('an error outside the chain', () => {
  it('is a separate reason while it lasts', async () => {
    const { listQueuedProofs } = rig.store;
    rig.store.listQueuedProofs = () => Promise.reject(new Error('broken'));
    rig.start();
    await waitFor('the reason', async () => (await rig.degraded()).includes('anchoring_failing'));

    rig.store.listQueuedProofs = listQueuedProofs;

    await waitFor('no degradation', async () => (await rig.degraded()).length === 0);
  });
});
