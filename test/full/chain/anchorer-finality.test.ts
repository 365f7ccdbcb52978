import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Hex } from '../../../src/proof/bytes.ts';
import { type AnchoringRig, startAnchoringRig } from '../../support/anchoring-rig.ts';
import { waitFor } from '../../support/wait-for.ts';

let rig: AnchoringRig;

beforeEach(async () => {
  rig = await startAnchoringRig();
});
afterEach(() => rig.closeSound());

const pending = (count: number) => rig.pending(count);
const mine = async (blocks: number) => {
  for (let i = 0; i < blocks; i += 1) await rig.node.mine();
};
const moreEstimates = async (count: number) => {
  const estimates = () => rig.proxy.asked.methods.filter((one) => one === 'eth_estimateGas').length;
  const before = estimates();
  await waitFor(`${count} more estimates`, () => estimates() >= before + count, 60_000);
};
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

  it('stops signing until that transaction is final, then its proofs are anchored again', async () => {
    rig.start();
    const ids = await conflict();
    const later = await rig.queue();
    await moreEstimates(4);
    expect((await rig.task(ids[0] ?? '')).completion?.state).toBe('submitted');
    expect((await rig.task(later[0] ?? '')).completion?.state).toBe('queued');

    await mine(3);
    await pending(1);
    await rig.node.mine();
    const [task] = await rig.verified([...ids, ...later]);

    expect(task?.completion?.attempts).toBe(2);
    expect((await rig.minedAnchors()).map(({ nonce }) => nonce)).toEqual([1]);
    await waitFor('no degradation', async () => (await rig.degraded()).length === 0);
  });

  it('is reported for each of many', async () => {
    rig.start({ batchMax: 1, maxInFlight: 8 });
    const ids = await rig.queue(8);
    await pending(8);
    await rig.node.rpc('anvil_dropAllTransactions');
    for (const nonce of ids.keys()) await foreignAtNonce(nonce);
    await mine(4);

    const anewOf = async (id: string) => (await rig.task(id)).completion?.attempts === 2;
    await waitFor('the next generation of all', async () =>
      (await Promise.all(ids.map(anewOf))).every(Boolean),
    );
  });

  it('is found block by block if the node keeps no state of old blocks', async () => {
    rig.start();
    rig.proxy.intercept(({ method, params }) =>
      method === 'eth_getTransactionCount' && String(params[1]).startsWith('0x')
        ? { error: { code: -32000, message: 'missing trie node' } }
        : null,
    );
    const ids = await conflict();
    await mine(9);

    await pending(1);
    await rig.node.mine();
    const [task] = await rig.verified(ids);

    expect(task?.completion?.attempts).toBe(2);
  });
});
