import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
  it('is built later for a block that no node gave for long, which is logged once', async () => {
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
});
