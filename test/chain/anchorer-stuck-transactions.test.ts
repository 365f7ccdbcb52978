import { parseTransaction } from 'viem';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import type { AnchorStep } from '../../src/server/anchoring/context.ts';
import { type AnchoringRig, startAnchoringRig } from '../support/anchoring-rig.ts';
import { waitFor } from '../support/wait-for.ts';

const gwei = 10n ** 9n;

let rig: AnchoringRig;

beforeEach(async () => {
  rig = await startAnchoringRig();
});
afterEach(() => rig.closeSound());

const hex = (amount: bigint) => `0x${amount.toString(16)}`;
/** The next block, and by a little less those after it, leave out what pays less. */
const mineAtBaseFee = async (fee: bigint) => {
  await rig.node.rpc('anvil_setNextBlockBaseFeePerGas', [hex(fee)]);
  await rig.node.mine();
};
const pool = () =>
  rig.node
    .rpc<{ pending: Record<string, Record<string, { hash: Hex; maxFeePerGas: Hex }>> }>(
      'txpool_content',
    )
    .then(({ pending }) =>
      Object.values(pending).flatMap((byNonce) =>
        Object.entries(byNonce).map(([nonce, tx]) => ({ nonce: Number(nonce), ...tx })),
      ),
    );
const pending = (count: number) =>
  waitFor(`${count} transactions in the pool`, async () => {
    const found = await pool();
    return found.length === count && found;
  });
const txHashOf = async (id: string | undefined) => (await rig.task(id ?? '')).completion?.txHash;
const replacementOf = (id: string | undefined, before: string | null | undefined) =>
  waitFor('a replacement in the pool', async () => {
    const hash = await txHashOf(id);
    return hash !== before && (await pool()).find((tx) => tx.hash === hash);
  });
const status = () => rig.store.getChainStatus();
const parked = (reason: string) =>
  waitFor(`parked: ${reason}`, async () => {
    const now = await status();
    return now?.parked === 1 && now.degraded.includes(reason);
  });
const wellAgain = () => waitFor('no degradation', async () => (await rig.degraded()).length === 0);

describe('a transaction that no block includes', () => {
  it('is replaced at market fees, and the replacement is the anchor', async () => {
    rig.start({ bumpAfterMs: 300 });
    const ids = await rig.queue();
    const [before] = await pending(1);
    await mineAtBaseFee(100n * gwei);

    const after = await replacementOf(ids[0], before?.hash);
    const { baseFeePerGas } = await rig.node.rpc<{ baseFeePerGas: Hex }>('eth_getBlockByNumber', [
      'latest',
      false,
    ]);
    expect(BigInt(after.maxFeePerGas)).toBeGreaterThanOrEqual(2n * BigInt(baseFeePerGas));
    await rig.node.mine();
    const [task] = await rig.verified(ids);

    expect(task?.completion).toMatchObject({ attempts: 1, receipt: { txHash: after.hash } });
    expect((await rig.minedAnchors()).map(({ nonce }) => nonce)).toEqual([0]);
  });

  it('is the anchor itself if it is mined after all', async () => {
    rig.start({ bumpAfterMs: 300 });
    const ids = await rig.queue();
    const [before] = await pending(1);
    const first = await rig.node.rpc('eth_getRawTransactionByHash', [before?.hash]);
    rig.proxy.intercept(({ method }) =>
      method === 'eth_sendRawTransaction' ? { result: `0x${'00'.repeat(32)}` } : null,
    );
    await mineAtBaseFee(100n * gwei);
    await waitFor('a replacement', async () => (await txHashOf(ids[0])) !== before?.hash);
    await mineAtBaseFee(gwei);
    await rig.node.rpc('eth_sendRawTransaction', [first]);

    await rig.node.mine();
    const [task] = await rig.verified(ids);

    expect(task?.completion).toMatchObject({
      txHash: before?.hash,
      receipt: { txHash: before?.hash },
    });
  });

  it('is replaced without the transactions of later nonces', async () => {
    rig.start({ bumpAfterMs: 300 });
    const ids: string[] = [];
    for (const count of [1, 2, 3]) {
      ids.push(...(await rig.queue()));
      await pending(count);
    }
    const later = await Promise.all(ids.slice(1).map(txHashOf));
    await mineAtBaseFee(100n * gwei);

    await replacementOf(ids[0], await txHashOf(ids[0]));

    expect(await Promise.all(ids.slice(1).map(txHashOf))).toEqual(later);
  });

  it.each<AnchorStep>(['variant_signed', 'variant_committed'])(
    'is anchored once if the anchorer ends at %s',
    async (step) => {
      let reached = false;
      const halted = rig.start({
        bumpAfterMs: 300,
        onStep: (at) => {
          if (at !== step) return;
          reached = true;
          void halted.drain();
          throw new Error('nothing after this step is done');
        },
      });
      const ids = await rig.queue();
      const [before] = await pending(1);
      await mineAtBaseFee(100n * gwei);
      await waitFor(`the step ${step}`, () => reached);
      await halted.drain();

      rig.start({ bumpAfterMs: 300 });
      await rig.node.mine();
      await replacementOf(ids[0], before?.hash);
      await rig.node.mine();
      await rig.verified(ids);

      expect(await rig.minedAnchors()).toHaveLength(1);
    },
  );
});

describe('a stuck transaction waits', () => {
  it('at the fee cap, and is mined when the price allows', async () => {
    rig.start({ bumpAfterMs: 300, maxFeePerGas: 3n * gwei });
    const ids = await rig.queue();
    const [before] = await pending(1);
    await mineAtBaseFee(100n * gwei);
    await parked('fee_cap');
    expect(await txHashOf(ids[0])).toBe(before?.hash);

    await waitFor('the anchor', async () => {
      await mineAtBaseFee(gwei);
      return (await rig.task(ids[0] ?? '')).status === 'verified';
    });

    await wellAgain();
    expect((await status())?.parked).toBe(0);
    expect((await rig.minedAnchors()).map(({ hash }) => hash)).toEqual([before?.hash]);
  });

  it('without funds for a replacement, and is replaced once there are funds', async () => {
    rig.start({ bumpAfterMs: 300 });
    const ids = await rig.queue();
    const [before] = await pending(1);
    await rig.node.rpc('anvil_setBalance', [rig.sender, hex(10n ** 15n)]);
    await mineAtBaseFee(100n * gwei);
    await parked('underfunded');

    await rig.node.rpc('anvil_setBalance', [rig.sender, hex(10n ** 18n)]);
    await replacementOf(ids[0], before?.hash);
    await rig.node.mine();

    await rig.verified(ids);
    // A fee that stays 100 times higher is reported as a jump.
    await mineAtBaseFee(gwei);
    await wellAgain();
  });

  it('if a node reports insufficient funds after signing, and is sent after a top-up', async () => {
    rig.start({ bumpAfterMs: 300 });
    await waitFor('a fee quote', async () => (await status())?.quote);
    rig.proxy.intercept(({ method }) =>
      method === 'eth_sendRawTransaction'
        ? { error: { code: -32000, message: 'insufficient funds for gas * price + value' } }
        : null,
    );
    const ids = await rig.queue();
    await parked('underfunded');
    expect((await rig.task(ids[0] ?? '')).completion?.state).toBe('submitted');

    rig.proxy.restore();
    await pending(1);
    await rig.node.mine();

    await rig.verified(ids);
    await wellAgain();
  });
});

describe('an underpriced replacement', () => {
  it('is raised further at once', async () => {
    rig.start({ bumpAfterMs: 300 });
    const ids = await rig.queue();
    await pending(1);
    const offered = new Set<bigint>();
    rig.proxy.intercept(({ method, params }) => {
      if (method !== 'eth_sendRawTransaction') return null;
      const { maxFeePerGas = 0n } = parseTransaction(params[0] as Hex);
      if (maxFeePerGas > 10n * gwei) offered.add(maxFeePerGas);
      if (offered.size !== 1) return null;
      return { error: { code: -32000, message: 'replacement transaction underpriced' } };
    });
    await mineAtBaseFee(100n * gwei);

    await waitFor('a second replacement', () => offered.size >= 2);
    const [refused = 0n, taken = 0n] = offered;
    expect(taken).toBe(2n * refused);
    // It was offered, and may still be on its way to the node.
    await waitFor('the anchor', async () => {
      await rig.node.mine();
      return (await rig.task(ids[0] ?? '')).status === 'verified';
    });
  });

  it('exceeds a transaction that another party sent with the same key and nonce', async () => {
    rig.start({ bumpAfterMs: 300 });
    const ids = await rig.queue();
    const [before] = await pending(1);
    await rig.node.rpc('anvil_dropTransaction', [before?.hash]);
    const foreign = {
      from: rig.sender,
      to: rig.sender,
      nonce: '0x0',
      maxFeePerGas: hex(20n * gwei),
      maxPriorityFeePerGas: hex(10n * gwei),
    };
    await rig.node.rpc('eth_sendTransaction', [foreign]);

    await replacementOf(ids[0], before?.hash);
    await rig.node.mine();
    await rig.verified(ids);

    expect((await rig.minedAnchors()).map(({ nonce }) => nonce)).toEqual([0]);
  });
});
