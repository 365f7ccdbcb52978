import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OpenChain, openChain } from '../../../src/chain/chain.ts';
import { encodePayload } from '../../../src/proof/payload.ts';
import { reconcile } from '../../../src/server/anchoring/reconcile.ts';
import { type AnchoringRig, startAnchoringRig } from '../../support/anchoring-rig.ts';
import { anvilAccounts } from '../../support/anvil.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('a restored database', () => {
  let rig: AnchoringRig;
  let chain: OpenChain;
  beforeEach(async () => {
    rig = await startAnchoringRig({ blockTime: 0.1 });
    chain = openChain({ urls: [rig.node.url] });
    const anchorer = rig.start();
    await rig.verified(await rig.queue(1));
    await anchorer.drain();
    await rig.store.holdQueue(Date.now());
  });
  afterEach(async () => {
    await chain.close();
    await rig.close();
  });

  const reconciled = (address = rig.sender, isAccepted = false, acceptedAnchors: string[] = []) =>
    reconcile({
      store: rig.store,
      chain: chain.anchoring,
      addresses: [address],
      isAccepted,
      acceptedAnchors,
      now: Date.now(),
    });
  const free = { findings: [], foreign: [], taken: [] };
  const isHeld = async () => {
    const { chainId } = await chain.anchoring.identity();
    const sender = { chainId, address: rig.sender };
    return (await rig.store.acquireLease(sender, 'a', 1_000, Date.now())) === null;
  };

  const anchor = encodePayload({ kind: 'batch', root: `0x${'11'.repeat(32)}`, leaf_count: 2 });
  const send = (data = '0x') =>
    rig.node.rpc<string>('eth_sendTransaction', [{ from: rig.sender, to: rig.sender, data }]);
  const blocks = async (count: number) => {
    const head = async () => Number(await rig.node.rpc<string>('eth_blockNumber'));
    const from = await head();
    await waitFor(`${count} blocks`, async () => (await head()) >= from + count);
  };

  it('anchors nothing until it is reconciled', async () => {
    const [id = ''] = await rig.queue(1);
    rig.start();
    await waitFor('the anchorer to be refused', () => rig.log.some((line) => /paused/.test(line)));
    expect((await rig.task(id)).completion?.state).toBe('queued');
    expect(await rig.degraded()).toEqual(['restored']);

    expect(await reconciled()).toEqual(free);

    await rig.verified([id]);
    expect(await rig.minedAnchors()).toHaveLength(2);
  });

  it('anchors only with the keys it was reconciled for', async () => {
    expect(await reconciled()).toEqual(free);
    const [id = ''] = await rig.queue(1);

    rig.start({ accounts: [2] });

    await waitFor('the anchorer to be refused', () => rig.log.some((line) => /paused/.test(line)));
    expect((await rig.task(id)).completion?.state).toBe('queued');
    expect(await rig.degraded()).toEqual(['key_not_reconciled']);
    expect(await reconciled(anvilAccounts[2].address)).toEqual(free);
    await rig.verified([id]);
  });

  it('stays held while the chain has transactions that it does not know', async () => {
    const txHash = await send();
    await blocks(4);

    const { findings, foreign } = await reconciled();

    expect(findings).toEqual([]);
    expect(foreign).toMatchObject([{ nonce: 1, txHash }]);
    expect(await isHeld()).toBe(true);
  });

  it('continues after foreign transactions once they are accepted', async () => {
    await send();
    await send();
    await blocks(4);

    await reconciled(rig.sender, true);

    const [id = ''] = await rig.queue(1);
    rig.start();
    await rig.verified([id]);
    expect((await rig.minedAnchors()).map(({ nonce }) => nonce)).toEqual([0, 3]);
    expect(await rig.store.checkInvariants()).toEqual([]);
    expect(await reconciled()).toEqual(free);
  });

  it('stays held while such a transaction is not final', async () => {
    await send();
    await blocks(1);
    // As on a chain whose last final block is an old one.
    const old = openChain({ urls: [rig.node.url], finalityDepth: 10_000 });

    const { findings } = await reconcile({
      store: rig.store,
      chain: old.anchoring,
      addresses: [rig.sender],
      isAccepted: true,
      acceptedAnchors: [],
      now: Date.now(),
    });
    await old.close();

    expect(findings).toEqual([expect.stringMatching(/nonce 1 was used by .* not final yet/)]);
    expect(await isHeld()).toBe(true);
  });

  it('stays held for an anchor that it does not know, whatever else is accepted', async () => {
    await send(anchor);
    await blocks(4);

    const { findings } = await reconciled(rig.sender, true);

    expect(findings).toEqual([expect.stringMatching(/nonce 1 has an anchor .* does not know/)]);
    expect(await isHeld()).toBe(true);
  });

  it('continues after an anchor of another service that is accepted by its hash', async () => {
    const txHash = await send(anchor);
    await blocks(4);

    expect(await reconciled(rig.sender, false, [txHash])).toMatchObject({
      findings: [],
      foreign: [{ nonce: 1, txHash }],
    });

    const [id = ''] = await rig.queue(1);
    rig.start();
    await rig.verified([id]);
    expect((await rig.task(id)).completion?.receipt?.txHash).not.toBe(txHash);
    expect((await rig.minedAnchors()).map(({ nonce }) => nonce)).toEqual([0, 1, 2]);
  });

  it('does not know the transactions of a key that is new to it', async () => {
    await rig.queue(1);
    const { findings } = await reconcile({
      store: { ...rig.store, listSenders: async () => [] },
      chain: chain.anchoring,
      addresses: [rig.sender],
      isAccepted: false,
      acceptedAnchors: [],
      now: Date.now(),
    });

    expect(findings).toEqual([expect.stringMatching(/knows none of them/)]);
    expect(await isHeld()).toBe(true);
  });
});
