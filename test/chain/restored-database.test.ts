import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openChain } from '../../src/chain/chain.ts';
import { type AnchorKey, loadAnchorKey } from '../../src/chain/keys/anchor-key.ts';
import { encodePayload } from '../../src/proof/payload.ts';
import { reconcile } from '../../src/server/anchoring/reconcile.ts';
import { type AnchoringRig, startAnchoringRig } from '../support/anchoring-rig.ts';
import { anvilAccounts } from '../support/anvil.ts';
import { waitFor } from '../support/wait-for.ts';

const DEARER = { maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 50_000_000_000n };

let rig: AnchoringRig;
let key: AnchorKey;

beforeEach(async () => {
  rig = await startAnchoringRig();
  key = await loadAnchorKey({ privateKey: anvilAccounts[0].privateKey });
});
afterEach(() => rig.closeSound());

const mine = async (blocks: number) => {
  for (let i = 0; i < blocks; i += 1) await rig.node.mine();
};
/** One proof that is signed and sent, its anchorer stopped, and its transaction gone from the pool. */
const signed = async () => {
  const anchorer = rig.start();
  const [id = ''] = await rig.queue();
  const pool = await waitFor('the transaction', async () => {
    const content = await rig.node.rpc<{
      pending: Record<string, Record<string, { hash: string; input: `0x${string}` }>>;
    }>('txpool_content');
    return Object.values(content.pending).flatMap((byNonce) => Object.values(byNonce))[0];
  });
  await anchorer.drain();
  await rig.node.rpc('anvil_dropTransaction', [pool.hash]);
  return { id, input: pool.input };
};
const send = async (payload: `0x${string}`) => {
  const { rawTx, txHash } = await key.signTransaction({
    chainId: 31337,
    nonce: 0,
    payload,
    gas: 100_000n,
    ...DEARER,
  });
  await rig.node.rpc('eth_sendRawTransaction', [rawTx]);
  await rig.node.mine();
  return txHash;
};

describe('a database that was restored to before a replacement', () => {
  it('reads the replacement from the chain, and anchors nothing twice', async () => {
    const { id, input } = await signed();
    const txHash = await send(input);
    await mine(3);

    rig.start();
    const [task] = await rig.verified([id]);

    expect(task?.completion).toMatchObject({ attempts: 1, receipt: { txHash } });
    expect(await rig.minedAnchors()).toHaveLength(1);
  });
});

describe('a database whose key another database uses', () => {
  const anchorOfAnother = encodePayload({
    kind: 'batch',
    root: `0x${'11'.repeat(32)}`,
    leaf_count: 2,
  });

  it('does not anchor again while the chain has an anchor that it does not know', async () => {
    const { id } = await signed();
    await send(anchorOfAnother);
    await mine(3);

    rig.start();
    await waitFor('the report', () => rig.log.some((line) => /another database/.test(line)));
    const estimates = () =>
      rig.proxy.asked.methods.filter((one) => one === 'eth_estimateGas').length;
    const before = estimates();
    await waitFor('more looks', () => estimates() >= before + 3);

    expect((await rig.task(id)).completion?.state).not.toBe('queued');
    expect(await rig.degraded()).toContain('nonce_conflict');
    expect(await rig.minedAnchors()).toHaveLength(1);
  });

  it('anchors again once the operator has attributed that anchor to another service', async () => {
    const { id } = await signed();
    const txHash = await send(anchorOfAnother);
    await mine(3);
    const chain = openChain({ urls: [rig.node.url] });
    const { findings, taken } = await reconcile({
      store: rig.store,
      chain: chain.anchoring,
      addresses: [rig.sender],
      isAccepted: false,
      acceptedAnchors: [txHash],
      now: Date.now(),
    });
    await chain.close();
    expect([findings, taken]).toMatchObject([[], [{ nonce: 0, txHash }]]);

    rig.start();
    await waitFor('its next generation in the pool', async () => {
      const status = await rig.node.rpc<{ pending: string }>('txpool_status');
      return Number(status.pending) === 1;
    });
    await mine(1);
    const [task] = await rig.verified([id]);

    expect(task?.completion?.receipt?.txHash).not.toBe(txHash);
    expect((await rig.minedAnchors()).map(({ nonce }) => nonce)).toEqual([0, 1]);
  });
});
