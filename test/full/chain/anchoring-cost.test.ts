import { afterEach, beforeEach, expect, it } from 'vitest';
import { type AnchoringRig, startAnchoringRig } from '../../support/anchoring-rig.ts';
import { waitFor } from '../../support/wait-for.ts';

const WAITING = 256;
const MOST_GAS = 95;

let rig: AnchoringRig;
beforeEach(async () => {
  rig = await startAnchoringRig();
});
afterEach(() => rig.close());

/** Gas that anchoring so many proofs costs, by the receipts, when they wait together. */
async function gasOfWaiting(count: number, batchMax: number): Promise<bigint> {
  const before = (await rig.minedAnchors()).length;
  const idle = rig.start();
  await waitFor('a fee quote', async () => (await rig.store.getChainStatus())?.quote);
  await idle.drain();
  const ids = await rig.queue(count);
  const anchorer = rig.start({ batchMax, maxInFlight: count });
  const sent = Math.ceil(count / batchMax);
  await waitFor(`${sent} transactions in the pool`, async () => {
    const { pending } = await rig.node.rpc<{ pending: string }>('txpool_status');
    return Number(pending) === sent;
  });
  await rig.node.mine();
  await rig.verified(ids);
  await anchorer.drain();
  const anchors = (await rig.minedAnchors()).slice(before);
  const receipts = await Promise.all(
    anchors.map(({ hash }) =>
      rig.node.rpc<{ gasUsed: string }>('eth_getTransactionReceipt', [hash]),
    ),
  );
  return receipts.reduce((sum, { gasUsed }) => sum + BigInt(gasUsed), 0n);
}

it(`${WAITING} proofs that wait together cost at most ${MOST_GAS} gas each, less than 1/250 of a single one`, async () => {
  const alone = 16;
  const gasAlone = Number(await gasOfWaiting(alone, 1)) / alone;

  const gasTogether = Number(await gasOfWaiting(WAITING, 1024)) / WAITING;

  expect(gasTogether).toBeLessThanOrEqual(MOST_GAS);
  expect(gasAlone / gasTogether).toBeGreaterThan(250);
});
