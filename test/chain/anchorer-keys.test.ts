import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FOLLOWER } from '../../src/server/rules/anchoring.ts';
import { type AnchoringRig, startAnchoringRig } from '../support/anchoring-rig.ts';
import { anvilAccounts } from '../support/anvil.ts';
import { waitFor } from '../support/wait-for.ts';

let rig: AnchoringRig;

beforeEach(async () => {
  rig = await startAnchoringRig();
});
afterEach(() => rig.closeSound());

const [first, , third] = anvilAccounts.map(({ address }) => address);
const senders = async () => (await rig.minedAnchors()).map(({ from }) => from.toLowerCase()).sort();
const pending = (count: number) => rig.pending(count);
const feeQuote = () =>
  waitFor('a fee quote', async () => (await rig.store.getChainStatus())?.quote);
const leases = (count: number) =>
  waitFor(`${count} leases`, async () => (await rig.store.listAnchorAddresses()).length === count);
const degradedBy = (reason: string) =>
  waitFor(`degraded: ${reason}`, async () => (await rig.degraded()).includes(reason));

describe('several keys', () => {
  it('share the queue, each proof in one transaction', async () => {
    rig.start({ accounts: [0, 2], maxInFlight: 1, batchMax: 1 });
    await leases(2);
    const ids = await rig.queue(4);
    for (let round = 0; round < 2; round += 1) {
      await pending(2);
      await rig.node.mine();
    }
    await rig.verified(ids);

    const both = [first, third].map((address) => address?.toLowerCase()).sort();
    expect(await senders()).toEqual([both[0], both[0], both[1], both[1]]);
  });

  it('sign only transactions that are sent', async () => {
    let signed = 0;
    rig.start({
      accounts: [0, 2],
      batchMax: 1,
      onStep: (step) => {
        if (step === 'attempt_signed') signed += 1;
      },
    });
    await leases(2);

    await rig.queue(6);
    await pending(6);

    expect(signed).toBe(6);
  });

  it('replace a key that cannot pay', async () => {
    await rig.node.rpc('anvil_setBalance', [first, '0x1']);
    rig.start({ accounts: [0, 2] });
    await degradedBy('underfunded');
    const ids = await rig.queue(1);
    await pending(1);
    await rig.node.mine();

    await rig.verified(ids);

    expect(await senders()).toEqual([third?.toLowerCase()]);
    expect(await rig.degraded()).toContain('underfunded');
  });
});

describe('an account without its key', () => {
  const leaveOne = async () => {
    const before = rig.start();
    const ids = await rig.queue();
    await pending(1);
    await before.drain();
    return ids;
  };

  it('is followed: its anchors are sent again, settled and final, while another account anchors new proofs', async () => {
    const before = await leaveOne();
    await rig.node.rpc('anvil_dropAllTransactions');

    rig.start({ accounts: [2] });
    const after = await rig.queue();
    await pending(2);
    await rig.node.mine();
    await rig.verified([...before, ...after]);
    await rig.node.mine();
    await rig.node.mine();

    await waitFor('finality', async () => {
      const { completion } = await rig.task(before[0] ?? '');
      return completion?.receipt?.finality === 'finalized';
    });
    await waitFor('the end', async () => (await rig.store.listOpenSenders()).length === 0);
    expect(await senders()).toEqual([third, first].map((one) => one?.toLowerCase()).sort());
    // A look during a block can find a node behind it; the next look does not.
    await waitFor('no reason', async () => (await rig.degraded()).length === 0);
  });

  it('keeps its lease only while it has open anchors', async () => {
    await leaveOne();
    rig.start({ accounts: [2] });
    await rig.node.mine();
    await rig.node.mine();
    await rig.node.mine();

    const sender = { chainId: 31337, address: first ?? '' };
    await waitFor('the lease', () =>
      rig.store.acquireLease(sender, `${FOLLOWER}b`, 1_000, Date.now()),
    );
    expect(await rig.store.listOpenSenders()).toEqual([]);
  });

  it('may be without funds and does not degrade the service', async () => {
    await leaveOne();
    await rig.node.mine();
    await rig.node.rpc('anvil_setBalance', [first, '0x0']);
    rig.start({ accounts: [2] });
    await leases(2);
    await feeQuote();
    const asked = () =>
      rig.proxy.asked.methods.filter((method) => method === 'eth_estimateGas').length;
    await waitFor('estimates of both', () => asked() >= 4);

    expect(await rig.degraded()).toEqual([]);
  });

  it('degrades the service if one of its transactions needs the key', async () => {
    const ids = await leaveOne();
    const txHash = (await rig.task(ids[0] ?? '')).completion?.txHash;
    const stuck = rig.start({ accounts: [2], bumpAfterMs: 300 });
    await feeQuote();
    await waitFor('its lease', async () => rig.log.join('').includes('an account without key'));
    expect(await rig.degraded()).toEqual([]);
    await rig.node.rpc('anvil_setNextBlockBaseFeePerGas', ['0x174876e800']);
    // Not before its engine knows where the chain stands.
    await waitFor('a look', () => rig.proxy.asked.methods.includes('eth_getTransactionReceipt'));
    await mineUntil('unconfigured_sender');
    expect((await rig.task(ids[0] ?? '')).completion).toMatchObject({ state: 'submitted', txHash });
    await stuck.drain();

    rig.start({ bumpAfterMs: 300 });
    await waitFor('the anchor', async () => {
      await rig.node.mine();
      return (await rig.task(ids[0] ?? '')).status === 'verified';
    });

    expect(await senders()).toEqual([first?.toLowerCase()]);
  });

  it('anchors again as soon as an instance has the key, whichever instance follows it meanwhile', async () => {
    await rig.node.rpc('anvil_setBalance', [third, '0x1']);
    await leaveOne();
    const looks = () =>
      rig.proxy.asked.methods.filter((method) => method === 'eth_getTransactionReceipt').length;
    const before = looks();
    rig.start({ accounts: [2] });
    await waitFor('a look of the follower', () => looks() > before);

    rig.start();
    await rig.queue();

    await pending(2);
  });

  /** Blocks whose base fee the transaction does not pay. */
  async function mineUntil(reason: string): Promise<void> {
    await waitFor(`degraded: ${reason}`, async () => {
      await rig.node.rpc('anvil_setNextBlockBaseFeePerGas', ['0x174876e800']);
      await rig.node.mine();
      return (await rig.degraded()).includes(reason);
    });
  }
});
