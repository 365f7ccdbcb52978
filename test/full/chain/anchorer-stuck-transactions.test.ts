import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Hex } from '../../../src/proof/bytes.ts';
import { type AnchoringRig, startAnchoringRig } from '../../support/anchoring-rig.ts';
import { waitFor } from '../../support/wait-for.ts';

let rig: AnchoringRig;

beforeEach(async () => {
  rig = await startAnchoringRig();
});
afterEach(() => rig.closeSound());
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

describe('a transaction that no block includes', () => {
  it('is replaced even without a block, each time after twice the time', async () => {
    const firstOffers = new Map<unknown, number>();
    rig.proxy.intercept(({ method, params: [rawTx] }) => {
      const isNew = method === 'eth_sendRawTransaction' && !firstOffers.has(rawTx);
      if (isNew) firstOffers.set(rawTx, performance.now());
      return null;
    });
    rig.start({ bumpAfterMs: 200 });
    const ids = await rig.queue();

    await waitFor('two replacements', () => firstOffers.size >= 3);

    const [first = 0, second = 0, third = 0] = firstOffers.values();
    expect(second - first).toBeGreaterThanOrEqual(400);
    expect(third - second).toBeGreaterThanOrEqual(800);
    await rig.node.mine();
    await rig.verified(ids);
    expect(await rig.minedAnchors()).toHaveLength(1);
  });

  it('is offered again with the same bytes while there is no block', async () => {
    const offered: unknown[] = [];
    rig.proxy.intercept(({ method, params: [rawTx] }) => {
      if (method === 'eth_sendRawTransaction') offered.push(rawTx);
      return null;
    });
    rig.start({ bumpAfterMs: 600 });
    const ids = await rig.queue();
    const [before] = await pending(1);
    await rig.node.rpc('anvil_dropTransaction', [before?.hash]);

    const [again] = await pending(1);

    expect(again?.hash).toBe(before?.hash);
    expect(new Set(offered).size).toBe(1);
    await rig.node.mine();
    await rig.verified(ids);
  });
});
