import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type AnchoringRig, startAnchoringRig } from '../support/anchoring-rig.ts';
import { holdTimers } from '../support/held-timers.ts';
import { quickPauses } from '../support/quick-pauses.js';
import { waitFor } from '../support/wait-for.ts';

const WALLET = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

let rig: AnchoringRig;

beforeEach(async () => {
  rig = await startAnchoringRig();
});

afterEach(() => rig.closeSound());

const pending = (count: number) => rig.pending(count);
const degradedBy = (reason: string) =>
  waitFor(`degraded: ${reason}`, async () => (await rig.degraded()).includes(reason));
const wellAgain = () => waitFor('no degradation', async () => (await rig.degraded()).length === 0);
const feeQuote = () =>
  waitFor('a fee quote', async () => (await rig.store.getChainStatus())?.quote);
const stateOf = async (id: string | undefined) => (await rig.task(id ?? '')).completion?.state;
/** Estimates of the anchorer so far. */
const estimates = () => rig.proxy.asked.methods.filter((name) => name === 'eth_estimateGas').length;
const moreEstimates = async (count: number) => {
  const before = estimates();
  await waitFor(`${count} more estimates`, () => estimates() >= before + count);
};

describe('a refusal of the gas estimate', () => {
  const refuse = () =>
    rig.proxy.intercept(({ method }) =>
      method === 'eth_estimateGas' ? { error: { code: 3, message: 'execution reverted' } } : null,
    );

  it('ends a proof only if it repeats at a later head, and releases the reservation', async () => {
    rig.start();
    await feeQuote();
    const before = await rig.store.getBalance(WALLET);
    refuse();
    const ids = await rig.queue();
    await degradedBy('gas_refused');
    await moreEstimates(2);
    expect(await stateOf(ids[0])).toBe('queued');

    await rig.node.mine();
    await waitFor('the refusal', async () => (await stateOf(ids[0])) === 'failed');

    expect(await rig.store.getBalance(WALLET)).toEqual(before);
  });

  it('ends a proof that is larger than any block', async () => {
    rig.start();
    await feeQuote();
    // Less than any anchor needs.
    await rig.node.rpc('evm_setBlockGasLimit', ['0x5300']);
    await rig.node.mine();
    const ids = await rig.queue();
    await degradedBy('gas_refused');
    await moreEstimates(2);

    await rig.node.mine();

    await waitFor('the refusal', async () => (await stateOf(ids[0])) === 'failed');
  });

  it('delays a proof but does not end it if it is temporary', async () => {
    rig.start();
    await feeQuote();
    refuse();
    const ids = await rig.queue(3);
    await degradedBy('gas_refused');

    rig.proxy.restore();
    await rig.node.mine();
    await pending(1);
    await rig.node.mine();

    await rig.verified(ids);
    await wellAgain();
  });

  it('of a batch ends no proof while each single proof is accepted', async () => {
    rig.start();
    await feeQuote();
    const single = await singlePayload();
    rig.proxy.intercept(({ method, params }) =>
      method === 'eth_estimateGas' && (params[0] as { data: string }).data !== single
        ? { error: { code: 3, message: 'execution reverted' } }
        : null,
    );
    const ids = await rig.queue(2);
    await degradedBy('gas_refused');
    await rig.node.mine();
    await moreEstimates(3);
    await rig.node.mine();
    await moreEstimates(3);

    expect(await stateOf(ids[0])).toBe('queued');
  });

  /** What the anchorer asks about when nothing is queued. */
  async function singlePayload(): Promise<string> {
    let seen: string | null = null;
    rig.proxy.intercept(({ method, params }) => {
      if (method === 'eth_estimateGas') seen = (params[0] as { data: string }).data;
      return null;
    });
    return waitFor('an estimate', () => seen);
  }
});

describe('a gas estimate', () => {
  it('above the gas limit of a block prevents signing', async () => {
    rig.start();
    await feeQuote();
    rig.proxy.intercept(({ method }) =>
      method === 'eth_estimateGas' ? { result: '0x5f5e100' } : null,
    );
    const ids = await rig.queue();
    await degradedBy('chain_unreachable');
    expect(await stateOf(ids[0])).toBe('queued');

    rig.proxy.restore();
    await pending(1);
    await rig.node.mine();

    await rig.verified(ids);
  });
});

describe('a transaction count', () => {
  it('below the mined nonces prevents signing', async () => {
    rig.start();
    const ids = await rig.queue();
    await pending(1);
    await rig.node.mine();
    await rig.verified(ids);
    await rig.node.rpc('anvil_rollback', [1]);
    await degradedBy('nonce_behind');

    const [after] = await rig.queue();
    await moreEstimates(2);

    expect(await stateOf(after)).toBe('queued');
  });

  it('that was reported once does not become the first nonce', async () => {
    rig.proxy.intercept(({ method }) =>
      method === 'eth_getTransactionCount' ? { result: '0x7' } : null,
    );
    rig.start({ pauses: { ...quickPauses, firstNonceMs: 60_000 } });
    const ids = await rig.queue();
    await moreEstimates(2);
    rig.proxy.restore();
    await rig.node.mine();
    await moreEstimates(1);
    expect(await stateOf(ids[0])).toBe('queued');

    await rig.node.mine();
    await pending(1);
    await rig.node.mine();
    await rig.verified(ids);

    expect((await rig.minedAnchors()).map(({ nonce }) => nonce)).toEqual([0]);
  });
});

describe('a mined transaction', () => {
  it('that one answer does not confirm is settled by a later one', async () => {
    rig.start();
    const ids = await rig.queue();
    await pending(1);
    const txHash = (await rig.task(ids[0] ?? '')).completion?.txHash;
    const tx = await rig.node.rpc<object>('eth_getTransactionByHash', [txHash]);
    rig.proxy.intercept(({ method }) =>
      method === 'eth_getTransactionByHash' ? { result: { ...tx, input: '0x' } } : null,
    );
    await rig.node.mine();
    await degradedBy('attempt_reverted');

    rig.proxy.restore();

    await rig.verified(ids);
    await wellAgain();
  });
});

describe('a node that takes bytes and does not answer', () => {
  it('delays neither receipts nor the next anchors', async () => {
    rig.start({ batchMax: 1, timeoutMs: 600_000 });
    await feeQuote();
    rig.proxy.hangOn('eth_sendRawTransaction');
    // The time-out of signed bytes.
    holdTimers(2_500);
    const ids = await rig.queue(2);
    await pending(1);

    await rig.node.mine();
    await waitFor('a receipt, and the next anchor to be signed', async () => {
      const states = await Promise.all(ids.map(stateOf));
      return states.toSorted().join() === 'included,submitted';
    });

    const offers = rig.proxy.asked.methods.filter((name) => name === 'eth_sendRawTransaction');
    expect(offers).toHaveLength(1);
  });
});

describe('a lease that is lost as soon as it is acquired', () => {
  it('is not acquired in a busy loop', async () => {
    const { acquireLease } = rig.store;
    let taken = 0;
    rig.store.acquireLease = (...args) => {
      taken += 1;
      return acquireLease(...args).then((lease) => lease && { ...lease, fence: lease.fence + 1 });
    };
    // Each pause is then three quarters of its longest.
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    const timers = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => void vi.restoreAllMocks());
    rig.start();

    await waitFor('the fifth time', () => taken >= 5);

    const pauses = timers.mock.calls.map(([, ms = 0]) => ms);
    const doubling = [37.5, 75, 150, 300];
    expect(pauses.filter((ms) => doubling.includes(ms))).toEqual(doubling);
    rig.store.acquireLease = acquireLease;
  });
});
