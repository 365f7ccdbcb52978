import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import type { AnchorStep } from '../../src/server/anchoring/context.ts';
import { type AnchoringRig, startAnchoringRig } from '../support/anchoring-rig.ts';
import { waitFor } from '../support/wait-for.ts';

const WALLET = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

let rig: AnchoringRig;

beforeEach(async () => {
  rig = await startAnchoringRig();
});
afterEach(() => rig.closeSound());

const pending = (count: number) => rig.pending(count);
const mine = async (blocks: number) => {
  for (let i = 0; i < blocks; i += 1) await rig.node.mine();
};
const finality = (id: string | undefined, wanted: string) =>
  waitFor(`finality ${wanted}`, async () => {
    const { status, completion } = await rig.task(id ?? '');
    expect(status).toBe('verified');
    return completion?.receipt?.finality === wanted && completion;
  });
const state = async (id: string | undefined) => (await rig.task(id ?? '')).completion?.state;
const moreEstimates = async (count: number) => {
  const estimates = () => rig.proxy.asked.methods.filter((one) => one === 'eth_estimateGas').length;
  const before = estimates();
  await waitFor(`${count} more estimates`, () => estimates() >= before + count, 60_000);
};
const balance = () => rig.store.getBalance(WALLET);
/** One proof, in a block and settled. */
const anchored = async () => {
  const ids = await rig.queue();
  await pending(1);
  await rig.node.mine();
  const [task] = await rig.verified(ids);
  return { id: ids[0] ?? '', receipt: task?.completion?.receipt };
};
/** Replaces so many blocks by empty ones; what was in them is not in the pool afterwards. */
const reorganise = (depth: number) => rig.node.rpc('anvil_reorg', [depth, []]);
const foreignAtNonce = (nonce: number) =>
  rig.node.rpc<Hex>('eth_sendTransaction', [
    {
      from: rig.sender,
      to: rig.sender,
      nonce: `0x${nonce.toString(16)}`,
      maxFeePerGas: '0x174876e800',
      maxPriorityFeePerGas: '0x174876e800',
    },
  ]);

describe('an anchor in a block', () => {
  it('is included, then safe, then finalized, as the chain says', async () => {
    rig.start();
    const { id } = await anchored();
    expect((await rig.task(id)).completion?.receipt?.finality).toBe('included');

    await rig.node.mine();
    expect(await finality(id, 'safe')).toMatchObject({ state: 'included' });
    await rig.node.mine();
    expect(await finality(id, 'finalized')).toMatchObject({ state: 'finalized' });
  });

  it('becomes final while another waits for its block', async () => {
    rig.start();
    const { id } = await anchored();
    rig.proxy.intercept(({ method }) =>
      method === 'eth_sendRawTransaction' ? { result: `0x${'00'.repeat(32)}` } : null,
    );
    const [waiting] = await rig.queue();
    await waitFor('its submission', async () => (await state(waiting)) === 'submitted');

    await mine(2);
    await finality(id, 'finalized');

    expect(await state(waiting)).toBe('submitted');
  });

  it('becomes final after a restart', async () => {
    const first = rig.start();
    const { id } = await anchored();
    await first.drain();
    await mine(2);

    rig.start();

    await finality(id, 'finalized');
  });

  it('is followed while a node does not answer about it, and new proofs are anchored meanwhile', async () => {
    rig.start();
    await anchored();
    await rig.node.mine();
    rig.proxy.handle(async ({ calls, answer, forward }) => {
      if (calls.some(({ params }) => params[0] === 'finalized')) return;
      answer(await forward(calls));
    });

    const ids = await rig.queue();
    await pending(1);
    await rig.node.mine();
    await rig.verified(ids);

    rig.proxy.restore();
  });
});

describe('a block that is replaced', () => {
  it('leaves the task verified; the same bytes are sent again and the receipt moves', async () => {
    rig.start();
    const { id, receipt } = await anchored();
    const charged = await balance();

    await reorganise(1);
    expect(await finality(id, 'reorged')).toMatchObject({
      state: 'reorged',
      receipt: { ...receipt, finality: 'reorged' },
    });
    await pending(1);
    await rig.node.mine();
    const completion = await finality(id, 'included');

    expect(completion.receipt?.txHash).toBe(receipt?.txHash);
    expect(completion.receipt?.blockNumber).toBeGreaterThan(receipt?.blockNumber ?? 0n);
    expect(completion.attempts).toBe(1);
    expect(await balance()).toEqual(charged);
    expect(await rig.minedAnchors()).toHaveLength(1);
  });

  it('is distinguished from a block that is only missing', async () => {
    rig.start();
    const { id, receipt } = await anchored();
    await rig.node.rpc('anvil_rollback', [1]);

    // Nothing is in its place: the bytes are offered, and the receipt stays as it is.
    await pending(1);
    expect((await rig.task(id)).completion?.receipt).toEqual(receipt);
    await mine(2);

    const completion = await finality(id, 'included');
    expect(completion.receipt?.txHash).toBe(receipt?.txHash);
    expect(await rig.minedAnchors()).toHaveLength(1);
  });

  it('removes several anchors, which are sent again lowest nonce first', async () => {
    rig.start();
    const ids = await rig.queue();
    await pending(1);
    ids.push(...(await rig.queue()));
    await pending(2);
    await rig.node.mine();
    await rig.verified(ids);
    ids.push((await anchored()).id);
    const before = (await rig.minedAnchors()).map(({ hash }) => hash);

    // No deeper: anvil calls the third block from the top final.
    await reorganise(2);
    for (const id of ids) await finality(id, 'reorged');
    await pending(3);
    await rig.node.mine();
    for (const id of ids) await finality(id, 'included');
    await mine(2);
    for (const id of ids) await finality(id, 'finalized');

    expect((await rig.minedAnchors()).map(({ hash }) => hash)).toEqual(before);
  });

  it('causes no anchor to be lost or signed twice', async () => {
    rig.start();
    const { id } = await anchored();
    await reorganise(1);
    await finality(id, 'reorged');

    const ids = await rig.queue();
    await pending(2);
    await rig.node.mine();
    await rig.verified(ids);

    expect((await rig.minedAnchors()).map(({ nonce }) => nonce)).toEqual([0, 1]);
    expect(rig.log.join('')).not.toContain('nonce_conflict');
  });

  it.each<AnchorStep>(['inclusion_changed', 'inclusion_change_recorded'])(
    'is handled if the anchorer ends at %s',
    async (step) => {
      const first = rig.start();
      const { id } = await anchored();
      await first.drain();
      await reorganise(1);
      let reached = false;
      const halted = rig.start({
        onStep: (at) => {
          if (at !== step) return;
          reached = true;
          void halted.drain();
          throw new Error('nothing after this step is done');
        },
      });
      await waitFor(`the step ${step}`, () => reached);
      await halted.drain();

      rig.start();
      await pending(1);
      await mine(3);
      await finality(id, 'finalized');

      expect(await rig.minedAnchors()).toHaveLength(1);
    },
  );
});

describe('a nonce that another transaction has taken', () => {
  const conflict = async () => {
    const ids = await rig.queue();
    await pending(1);
    const txHash = (await rig.task(ids[0] ?? '')).completion?.txHash;
    await rig.node.rpc('anvil_dropTransaction', [txHash]);
    await foreignAtNonce(0);
    await rig.node.mine();
    await waitFor('the conflict', async () => (await rig.degraded()).includes('nonce_conflict'));
    return ids;
  };

  it('after a reorganization charges the account nothing more', async () => {
    rig.start();
    const { id, receipt } = await anchored();
    const charged = await balance();
    rig.proxy.cut();
    await reorganise(1);
    await foreignAtNonce(0);
    await mine(3);
    rig.proxy.restore();

    expect(await finality(id, 'reorged')).toMatchObject({ receipt: { txHash: receipt?.txHash } });
    await pending(1);
    await rig.node.mine();
    const completion = await finality(id, 'included');

    expect(completion).toMatchObject({ state: 'included', attempts: 2 });
    expect(completion.receipt?.txHash).not.toBe(receipt?.txHash);
    expect(await balance()).toEqual(charged);
    expect((await rig.minedAnchors()).map(({ nonce }) => nonce)).toEqual([1]);
  });

  it('is not assumed because receipts are missing, however final the block is', async () => {
    rig.start();
    await anchored();
    const ids = await rig.queue();
    await pending(1);
    let lookups = 0;
    rig.proxy.intercept(({ method }) => {
      if (method !== 'eth_getTransactionReceipt') return null;
      lookups += 1;
      return { result: null };
    });
    // An earlier lookup may still be on its way to the node, which would answer it from the new blocks.
    await waitFor('a lookup that is intercepted', () => lookups > 0);
    await mine(4);
    await waitFor('the doubt', async () => (await rig.degraded()).includes('nonce_conflict'));
    await moreEstimates(4);
    expect((await rig.task(ids[0] ?? '')).completion?.state).toBe('submitted');

    rig.proxy.restore();
    const [task] = await rig.verified(ids);

    expect(task?.completion?.attempts).toBe(1);
    expect(await rig.minedAnchors()).toHaveLength(2);
  });

  it('is found through a provider that accepts six calls in one request', async () => {
    let largest = 0;
    rig.proxy.handle(async ({ calls, answer, forward, response }) => {
      if (calls.length <= 6) {
        largest = Math.max(largest, calls.length);
        return answer(await forward(calls));
      }
      const error = { code: -32600, message: 'batch too large' };
      response.end(JSON.stringify({ error }));
    });
    rig.start();
    const ids = await conflict();
    await mine(3);
    await pending(1);
    await rig.node.mine();
    await rig.verified(ids);

    expect(largest).toBeGreaterThan(1);
    expect((await rig.minedAnchors()).map(({ nonce }) => nonce)).toEqual([1]);
  });

  it('is accepted only with the transaction itself', async () => {
    rig.start();
    await conflict();
    rig.proxy.intercept(({ method, params }) =>
      method === 'eth_getBlockByNumber' && params[1] === true ? { result: null } : null,
    );
    await mine(4);
    await moreEstimates(4);
    expect(await rig.degraded()).toContain('nonce_conflict');

    rig.proxy.restore();
    await pending(1);
  });

  it.each<AnchorStep>(['replaced_nonce_found', 'replaced_nonce_recorded'])(
    'leads to one anchor if the anchorer ends at %s',
    async (step) => {
      let reached = false;
      const halted = rig.start({
        onStep: (at) => {
          if (at !== step) return;
          reached = true;
          void halted.drain();
          throw new Error('nothing after this step is done');
        },
      });
      const ids = await conflict();
      await mine(3);
      await waitFor(`the step ${step}`, () => reached);
      await halted.drain();

      rig.start();
      await pending(1);
      await rig.node.mine();
      await rig.verified(ids);

      expect(await rig.minedAnchors()).toHaveLength(1);
    },
  );

  it('may belong to a failed transaction', async () => {
    rig.start();
    const ids = await rig.queue();
    await pending(1);
    // Code that reverts everything; only a delegated account can have it.
    await rig.node.rpc('anvil_setCode', [rig.sender, '0x60006000fd']);
    await rig.node.mine();
    await waitFor('the failure', async () => (await rig.degraded()).includes('attempt_reverted'));
    await rig.node.rpc('anvil_setCode', [rig.sender, '0x']);

    await mine(3);
    await pending(1);
    await rig.node.mine();
    const [task] = await rig.verified(ids);

    expect(task?.completion?.attempts).toBe(2);
    await waitFor('no degradation', async () => (await rig.degraded()).length === 0);
  });
});
