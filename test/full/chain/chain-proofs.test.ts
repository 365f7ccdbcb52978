import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readBlockHeader } from '../../../src/proof/block-header.ts';
import { provesPlace } from '../../../src/server/rules/anchoring.ts';
import {
  type AnchoringRig,
  type RigOptions,
  startAnchoringRig,
} from '../../support/anchoring-rig.ts';
import { quickPauses } from '../../support/quick-pauses.js';
import { waitFor } from '../../support/wait-for.ts';

const WALLET = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

let rig: AnchoringRig;

beforeEach(async () => {
  rig = await startAnchoringRig();
});
afterEach(() => rig.closeSound());

const start = (options: RigOptions = {}) =>
  rig.start({
    chainProofs: true,
    pauses: { ...quickPauses, chainProofsMs: 20, chainProofRetryMs: 20 },
    ...options,
  });
const missing = () => rig.store.countMissingChainProofs();
const bundle = async (id: string) => {
  const record = await rig.store.getBundle(id, { wallet: WALLET });
  if (!record?.mined || !record.task.completion?.receipt) throw new Error('Not anchored');
  return { ...record.mined, blockNumber: record.task.completion.receipt.blockNumber };
};
const proven = (id: string) =>
  waitFor('the chain proof', async () => (await bundle(id)).chainProof !== null && bundle(id));
/** Proofs of one transaction, in a block that is final. */
async function finalized(queued?: string[]): Promise<string[]> {
  const ids = queued ?? (await rig.queue());
  await rig.pending(1);
  await rig.node.mine();
  await rig.verified(ids);
  await rig.node.mine();
  await rig.node.mine();
  await waitFor('finality', async () => {
    const { completion } = await rig.task(ids[0] ?? '');
    return completion?.receipt?.finality === 'finalized';
  });
  return ids;
}
const blockReads = () =>
  rig.proxy.asked.methods.filter((method) => method === 'eth_getBlockByHash').length;

describe('the chain proof of a final anchor', () => {
  it('is built from its block, once for all proofs of the transaction', async () => {
    const before = start();
    await waitFor('a fee quote', async () => (await rig.store.getChainStatus())?.quote);
    await before.drain();
    // Both wait when the next anchorer starts, so that it signs them together.
    const both = await rig.queue(2);
    start();
    const [first = '', second = ''] = await finalized(both);

    const place = await proven(first);

    expect(place.chainProof && provesPlace(place, place.chainProof)).toBe(true);
    const block = await rig.node.rpc<{ hash: string }>('eth_getBlockByNumber', [
      `0x${place.blockNumber.toString(16)}`,
      false,
    ]);
    expect(readBlockHeader(place.chainProof?.header ?? '0x').hash).toBe(block.hash);
    expect((await bundle(second)).chainProof).toEqual(place.chainProof);
    expect(blockReads()).toBe(1);
    expect(await missing()).toBe(0);
  });

  it('is missing while no node has the block, which delays neither receipts nor finality', async () => {
    rig.proxy.intercept(({ method }) =>
      method === 'eth_getBlockByHash' ? { error: { code: -32603, message: 'busy' } } : null,
    );
    start();
    const [id = ''] = await finalized();
    await waitFor('three tries', () => blockReads() >= 3);

    expect(await missing()).toBe(1);
    expect(await rig.degraded()).toEqual([]);
    rig.proxy.intercept(() => null);
    await proven(id);
    expect(rig.log.filter((line) => line.includes('failed to build chain proofs'))).toHaveLength(1);
  });

  it('is built later for a block that no node had for long, which is logged once', async () => {
    rig.proxy.intercept(({ method }) =>
      method === 'eth_getBlockByHash' ? { result: null } : null,
    );
    start();
    const [id = ''] = await finalized();
    await waitFor('six tries', () => blockReads() >= 6);
    expect(await missing()).toBe(1);
    expect((await bundle(id)).chainProof).toBeNull();

    rig.proxy.intercept(() => null);
    await proven(id);

    expect(await missing()).toBe(0);
    expect(rig.log.filter((line) => line.includes('no chain proof can be built yet'))).toHaveLength(
      1,
    );
  });

  it.each(['chain_proof_built', 'chain_proof_recorded'] as const)(
    'is complete or absent after a crash at %s, and exists after the next start',
    async (last) => {
      let isOver = false;
      const halted = start({
        onStep: (step) => {
          if (step !== last) return;
          isOver = true;
          void halted.drain();
          throw new Error('nothing after this step is done');
        },
      });
      const [id = ''] = await finalized();
      await waitFor(`the step ${last}`, () => isOver);
      await halted.drain();
      expect(await missing()).toBe(last === 'chain_proof_built' ? 1 : 0);

      start();

      expect((await proven(id)).chainProof).not.toBeNull();
      expect(blockReads()).toBe(last === 'chain_proof_built' ? 2 : 1);
    },
  );

  it('is built by one of two instances', async () => {
    const pauses = { ...quickPauses, chainProofsMs: 20, chainProofRetryMs: 60_000 };
    start({ pauses });
    start({ pauses, accounts: [1] });
    const [id = ''] = await finalized();
    await proven(id);
    await proven((await finalized())[0] ?? '');

    expect(blockReads()).toBe(2);
  });

  it('is not built when it is turned off, and later when it is turned on', async () => {
    const off = start({ chainProofs: false });
    const [id = ''] = await finalized();
    // A loop that built them would read the block of the first one while the second one becomes final.
    await finalized();
    expect(blockReads()).toBe(0);
    expect(await missing()).toBe(2);
    await off.drain();

    start();

    await proven(id);
  });

  it('is removed if a reorganization removes the anchor, and built from the new block once it is final', async () => {
    start();
    const [id = ''] = await finalized();
    const before = await proven(id);
    // A reorganization that is deeper than what the node calls final, and which it does not announce.
    await rig.node.rpc('anvil_reorg', [3, []]);
    await waitFor('the loss', async () => {
      const { completion } = await rig.task(id);
      return completion?.receipt?.finality === 'reorged';
    });
    expect((await bundle(id)).chainProof).toBeNull();
    expect(await missing()).toBe(0);

    await rig.pending(1);
    for (let i = 0; i < 3; i += 1) await rig.node.mine();

    const after = await proven(id);
    expect(after.blockHash).not.toBe(before.blockHash);
    expect(after.chainProof && provesPlace(after, after.chainProof)).toBe(true);
  });
});
