import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OpenChain, openChain } from '../../src/chain/chain.ts';
import { reconcile } from '../../src/server/anchorer/reconcile.ts';
import { type AnchoringRig, startAnchoringRig } from '../support/anchoring-rig.ts';
import { anvilAccounts } from '../support/anvil.ts';
import { waitFor } from '../support/wait-for.ts';

describe('a restored database', () => {
  let rig: AnchoringRig;
  let chain: OpenChain;
  beforeEach(async () => {
    rig = await startAnchoringRig({ blockTime: 1 });
    chain = openChain({ url: rig.node.url });
    const anchorer = rig.start();
    await rig.verified(await rig.queue(1));
    await anchorer.drain();
    await rig.store.holdQueue(Date.now());
  });
  afterEach(async () => {
    await chain.close();
    await rig.close();
  });

  const reconciled = (address = rig.sender) =>
    reconcile({
      store: rig.store,
      chain: chain.anchoring,
      addresses: [address],
      now: Date.now(),
    });
  const isHeld = async () => {
    const { chainId } = await chain.anchoring.identity();
    const sender = { chainId, address: rig.sender };
    return (await rig.store.acquireLease(sender, 'a', 1_000, Date.now())) === null;
  };

  const sendForeignTransaction = () =>
    rig.node.rpc('eth_sendTransaction', [{ from: rig.sender, to: rig.sender, value: '0x0' }]);

  it('anchors nothing until it is reconciled', async () => {
    const [id = ''] = await rig.queue(1);
    rig.start();
    await waitFor('the anchorer to be refused', () => rig.log.some((line) => /held/.test(line)));
    expect((await rig.task(id)).completion?.state).toBe('queued');
    expect(await rig.degraded()).toEqual(['restored']);

    expect(await reconciled()).toEqual([]);

    await rig.verified([id]);
    expect(await rig.minedAnchors()).toHaveLength(2);
  });

  it('anchors with no other key than those it was reconciled for', async () => {
    expect(await reconciled()).toEqual([]);
    const [id = ''] = await rig.queue(1);

    rig.start({ otherKey: true });

    await waitFor('the anchorer to be refused', () => rig.log.some((line) => /held/.test(line)));
    expect((await rig.task(id)).completion?.state).toBe('queued');
    expect(await rig.degraded()).toEqual(['restored']);
    expect(await reconciled(anvilAccounts[2].address)).toEqual([]);
    await rig.verified([id]);
  });

  it('stays held while the chain knows transactions that it does not', async () => {
    await sendForeignTransaction();

    const findings = await reconciled();

    expect(findings).toEqual([
      expect.stringMatching(/knows nonces 1 to 1, this database does not/),
    ]);
    expect(await isHeld()).toBe(true);
  });

  it('does not know what a key sent that is new to it', async () => {
    await rig.queue(1);
    const findings = await reconcile({
      store: { ...rig.store, listSenders: async () => [] },
      chain: chain.anchoring,
      addresses: [rig.sender],
      now: Date.now(),
    });

    expect(findings).toEqual([expect.stringMatching(/knows none of them/)]);
    expect(await isHeld()).toBe(true);
  });
});
