import { type Hex, keccak256 } from 'viem';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type AnchoringRig, startAnchoringRig } from '../../support/anchoring-rig.ts';
import { waitFor } from '../../support/wait-for.ts';

let rig: AnchoringRig;

beforeEach(async () => {
  rig = await startAnchoringRig();
});
afterEach(() => rig.closeSound());

const pending = (count: number) => rig.pending(count);

it('moves every receipt to its new block, although no block becomes final', async () => {
  const genesis = await rig.node.rpc('eth_getBlockByNumber', ['0x0', false]);
  const sent = new Set<Hex>();
  rig.proxy.intercept(({ method, params }) => {
    if (method === 'eth_sendRawTransaction') sent.add(params[0] as Hex);
    const isTag = params[0] === 'finalized' || params[0] === 'safe';
    return method === 'eth_getBlockByNumber' && isTag ? { result: genesis } : null;
  });
  rig.start({ batchMax: 1, maxInFlight: 200, lingerMs: 1, bumpAfterMs: 60_000 });
  const ids: string[] = [];
  for (let block = 0; block < 2; block += 1) {
    const queued = await rig.queue(60);
    await pending(60);
    await rig.node.mine();
    await rig.verified(queued);
    ids.push(...queued);
  }
  await rig.node.mine();

  // The first sixty in the second new block, the others in the third.
  rig.proxy.cut();
  const nonces = new Map((await rig.minedAnchors()).map(({ hash, nonce }) => [hash, nonce]));
  const nonceOf = (rawTx: Hex) => nonces.get(keccak256(rawTx)) ?? -1;
  const moved = [...sent].sort((a, b) => nonceOf(a) - nonceOf(b));
  await rig.node.rpc('anvil_reorg', [3, moved.map((rawTx, nonce) => [rawTx, nonce < 60 ? 1 : 2])]);
  rig.proxy.handle(async ({ calls, answer, forward }) => answer(await forward(calls)));

  const anchors = await rig.minedAnchors();
  const blocks = new Map(anchors.map(({ hash, blockNumber }) => [hash, BigInt(blockNumber)]));
  expect(blocks.size).toBe(120);
  await waitFor('receipts that name the blocks of the chain', async () => {
    const tasks = await Promise.all(ids.map((id) => rig.task(id)));
    return tasks.every(({ completion }) => {
      const { txHash = '', blockNumber, finality } = completion?.receipt ?? {};
      return finality === 'included' && blocks.get(txHash) === blockNumber;
    });
  });
});
