import { keccak256 } from 'viem';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import { decodePayload } from '../../src/proof/payload.ts';
import { rootFromPath } from '../../src/proof/tree.ts';
import type { AnchorStep } from '../../src/server/anchoring/context.ts';
import { type AnchoringRig, startAnchoringRig } from '../support/anchoring-rig.ts';
import { quickPauses } from '../support/quick-pauses.js';
import { waitFor } from '../support/wait-for.ts';

let rig: AnchoringRig;

beforeEach(async () => {
  rig = await startAnchoringRig();
});

afterEach(() => rig.closeSound());

const pending = (count: number) => rig.pending(count);

const degradedBy = (reason: string) =>
  waitFor(`degraded: ${reason}`, async () => (await rig.degraded()).includes(reason));

/** Looks again after the anchorer has had its chance, twice. */
const staysQueued = async (id: string | undefined) => {
  const looks = () => rig.proxy.asked.methods.filter((method) => method === 'eth_chainId').length;
  const before = looks();
  await waitFor('two more looks at the chain', () => looks() >= before + 2);
  expect((await rig.task(id ?? '')).completion?.state).toBe('queued');
};

const wellAgain = () => waitFor('no degradation', async () => (await rig.degraded()).length === 0);

describe('anchoring', () => {
  it('anchors one waiting proof as a single', async () => {
    rig.start();
    const ids = await rig.queue();
    await pending(1);

    await rig.node.mine();
    const [task] = await rig.verified(ids);

    const [anchor] = await rig.minedAnchors();
    expect(decodePayload(anchor?.input ?? '')).toEqual({
      kind: 'single',
      proof_hash: task?.completion?.proofHash,
      leaf: task?.completion?.leaf,
    });
    expect(task?.completion?.receipt).toMatchObject({
      chainId: 31337,
      txHash: anchor?.hash,
      from: rig.sender,
      blockNumber: BigInt(anchor?.blockNumber ?? 0),
      inclusion: null,
      finality: 'included',
    });
  });

  it('anchors proofs that waited together as a batch, each with its inclusion path', async () => {
    const anchorer = rig.start();
    await waitFor('a fee quote', async () => (await rig.store.getChainStatus())?.quote);
    await anchorer.drain();
    const ids = await rig.queue(5);

    rig.start();
    await pending(1);
    await rig.node.mine();
    const tasks = await rig.verified(ids);

    const [anchor, ...more] = await rig.minedAnchors();
    const payload = decodePayload(anchor?.input ?? '');
    expect(more).toEqual([]);
    expect(payload).toMatchObject({ kind: 'batch', leaf_count: 5 });
    for (const { completion } of tasks) {
      const inclusion = completion?.receipt?.inclusion;
      if (!completion || !inclusion) throw new Error('A leaf of a batch has an inclusion');
      expect(payload).toMatchObject({ root: rootFromPath(completion.leaf, inclusion) });
    }
  });

  it('sends no more transactions than the in-flight limit, and batches the rest', async () => {
    rig.start({ maxInFlight: 2 });
    const first = await rig.queue();
    await pending(1);
    const second = await rig.queue();
    await pending(2);
    const rest = await rig.queue(6);

    await rig.node.mine();
    await rig.verified([...first, ...second]);
    await pending(1);
    await rig.node.mine();
    await rig.verified(rest);

    const anchors = await rig.minedAnchors();
    expect(anchors.map(({ nonce }) => nonce)).toEqual([0, 1, 2]);
    expect(decodePayload(anchors[2]?.input ?? '')).toMatchObject({ kind: 'batch', leaf_count: 6 });
  });

  it('never puts more than the batch maximum into a transaction', async () => {
    const anchorer = rig.start();
    await waitFor('a fee quote', async () => (await rig.store.getChainStatus())?.quote);
    await anchorer.drain();
    const ids = await rig.queue(7);

    rig.start({ batchMax: 3 });
    await pending(3);
    await rig.node.mine();
    await rig.verified(ids);

    const counts = (await rig.minedAnchors()).map(({ input }) => {
      const payload = decodePayload(input);
      return payload?.kind === 'batch' ? payload.leaf_count : 1;
    });
    expect(counts).toEqual([3, 3, 1]);
  });

  it('assigns and settles a large batch in commits of at most 64 leaves', async () => {
    const anchorer = rig.start();
    await waitFor('a fee quote', async () => (await rig.store.getChainStatus())?.quote);
    await anchorer.drain();
    const ids = await rig.queue(150);
    const steps: AnchorStep[] = [];

    rig.start({ onStep: (step) => void steps.push(step) });
    await pending(1);
    await rig.node.mine();
    await rig.verified(ids);

    await waitFor('the last step', () => steps.length >= 11);
    expect(steps).toEqual([
      'attempt_signed',
      'leaves_assigned',
      'leaves_assigned',
      'attempt_committed',
      'broadcast_sent',
      'broadcast_recorded',
      'inclusion_found',
      'inclusion_recorded',
      'leaves_settled',
      'leaves_settled',
      'leaves_settled',
    ]);
  });

  it('sends queued proofs while a batch is settled', async () => {
    const warm = rig.start();
    await waitFor('a fee quote', async () => (await rig.store.getChainStatus())?.quote);
    await warm.drain();
    const ids = await rig.queue(100);
    let goOn = () => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let isSettling = false;
    rig.start({
      // A look at finality would wait for the settlement that the test holds.
      pauses: { ...quickPauses, senderStateMs: 15_000 },
      onStep: (step) => {
        if (step !== 'leaves_settled') return;
        isSettling = true;
        return held;
      },
    });
    await pending(1);
    await rig.node.mine();
    await waitFor('the first settlement', () => isSettling);

    ids.push(...(await rig.queue()));
    await pending(1);

    goOn();
    await rig.node.mine();
    await rig.verified(ids);
  });

  it('stores the signed transaction before a node hears of it', async () => {
    const seen: [AnchorStep, string | undefined, boolean][] = [];
    let ids: string[] = [];
    rig.start({
      onStep: async (step) => {
        const { completion } = await rig.task(await waitFor('the id', () => ids[0]));
        const sent = rig.proxy.asked.methods.includes('eth_sendRawTransaction');
        seen.push([step, completion?.state, sent]);
      },
    });

    ids = await rig.queue();
    await waitFor('the broadcast', () => seen.length === 4);

    expect(seen).toEqual([
      ['attempt_signed', 'queued', false],
      ['attempt_committed', 'submitted', false],
      ['broadcast_sent', 'submitted', true],
      ['broadcast_recorded', 'submitted', true],
    ]);
  });

  it('waits for the configured number of confirmations', async () => {
    rig.start({ confirmations: 3 });
    const ids = await rig.queue();
    await pending(1);
    await rig.node.mine();
    await rig.node.mine();
    const before = rig.proxy.asked.requests;
    await waitFor('three more looks', () => rig.proxy.asked.requests >= before + 6);
    expect((await rig.task(ids[0] ?? '')).status).toBe('claimed');

    await rig.node.mine();

    await rig.verified(ids);
  });

  it('charges the cost of the transaction once', async () => {
    rig.start();
    const before = await rig.store.getBalance('0x70997970C51812dc3A010C7d01b50e0d17dc79C8');
    const ids = await rig.queue();
    await pending(1);
    await rig.node.mine();
    await rig.verified(ids);

    const [anchor] = await rig.minedAnchors();
    const receipt = await rig.node.rpc<{ gasUsed: string; effectiveGasPrice: string }>(
      'eth_getTransactionReceipt',
      [anchor?.hash],
    );
    const after = await rig.store.getBalance('0x70997970C51812dc3A010C7d01b50e0d17dc79C8');
    const cost = BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice);
    expect((before?.gasCreditWei ?? 0n) - (after?.gasCreditWei ?? 0n)).toBe(cost);
    expect(after?.anchorQuota).toBe(9_999);
  });

  it('charges the data fee that the receipt of an L2 carries', async () => {
    const dataFee = 12_345n;
    rig.proxy.handle(async ({ calls, forward, answer }) => {
      const answers = await forward(calls);
      answer(
        answers.map((one, i) => {
          const isReceipt = calls[i]?.method === 'eth_getTransactionReceipt';
          if (!isReceipt || !('result' in one) || one.result === null) return one;
          return { result: { ...one.result, l1Fee: `0x${dataFee.toString(16)}` } };
        }),
      );
    });
    rig.start();
    const gasCredit = async () =>
      (await rig.store.getBalance('0x70997970C51812dc3A010C7d01b50e0d17dc79C8'))?.gasCreditWei ??
      0n;
    const before = await gasCredit();
    const ids = await rig.queue();
    await pending(1);
    await rig.node.mine();
    await rig.verified(ids);

    const [anchor] = await rig.minedAnchors();
    const { gasUsed, effectiveGasPrice } = await rig.node.rpc<Record<string, string>>(
      'eth_getTransactionReceipt',
      [anchor?.hash],
    );
    const gas = BigInt(gasUsed ?? 0) * BigInt(effectiveGasPrice ?? 0);
    expect(before - (await gasCredit())).toBe(gas + dataFee);
  });
});

describe('after a restart', () => {
  it.each<[AnchorStep, 'before the block' | 'after it']>([
    ['attempt_signed', 'before the block'],
    ['attempt_committed', 'before the block'],
    ['broadcast_sent', 'before the block'],
    ['broadcast_recorded', 'before the block'],
    ['inclusion_found', 'after it'],
    ['inclusion_recorded', 'after it'],
  ])('a proof whose anchorer ended at %s is anchored once', async (step, when) => {
    let reached = false;
    const halted = rig.start({
      onStep: (at) => {
        if (at !== step) return;
        reached = true;
        void halted.drain();
        throw new Error('nothing after this step is done');
      },
    });
    const ids = await rig.queue();
    const mine = async () => {
      await pending(1);
      await rig.node.mine();
    };
    if (when === 'after it') await mine();
    await waitFor(`the step ${step}`, () => reached);
    await halted.drain();
    expect((await rig.task(ids[0] ?? '')).status).toBe('claimed');

    rig.start();
    if (when === 'before the block') await mine();
    await rig.verified(ids);

    expect(await rig.minedAnchors()).toHaveLength(1);
  });

  it('a transaction that was mined meanwhile is settled without another transaction', async () => {
    const first = rig.start();
    const ids = await rig.queue();
    await pending(1);
    await first.drain();
    await rig.node.mine();
    rig.proxy.asked.methods.length = 0;

    rig.start();
    await rig.verified(ids);

    expect(rig.proxy.asked.methods).not.toContain('eth_sendRawTransaction');
    expect(await rig.minedAnchors()).toHaveLength(1);
  });

  it('transactions that the pool lost are broadcast again, lowest nonce first', async () => {
    const first = rig.start();
    const ids: string[] = [];
    for (const count of [1, 2, 3]) {
      ids.push(...(await rig.queue()));
      await pending(count);
    }
    await first.drain();
    await rig.node.rpc('anvil_dropAllTransactions');
    const order: unknown[] = [];
    rig.proxy.intercept(({ method, params }) => {
      if (method === 'eth_sendRawTransaction') order.push(params[0]);
      return null;
    });

    rig.start();
    await pending(3);
    await rig.node.mine();
    await rig.verified(ids);

    const anchors = await rig.minedAnchors();
    expect(anchors.map(({ nonce }) => nonce)).toEqual([0, 1, 2]);
    expect(order.map((raw) => keccak256(raw as Hex))).toEqual(anchors.map(({ hash }) => hash));
  });

  it('leaves of an attempt that was not committed are anchored in another one', async () => {
    const warm = rig.start();
    await waitFor('a fee quote', async () => (await rig.store.getChainStatus())?.quote);
    await warm.drain();
    const ids = await rig.queue(150);
    let wasAssigned = false;
    const crashed = rig.start({
      onStep: (step) => {
        if (step !== 'leaves_assigned') return;
        wasAssigned = true;
        throw new Error('a failure between two commits');
      },
    });
    await waitFor('an assignment', () => wasAssigned);
    await crashed.drain();

    rig.start();

    await pending(1);
    await rig.node.mine();
    await rig.verified(ids);
    expect(await rig.minedAnchors()).toHaveLength(1);
  });

  it('settlement continues where it stopped', async () => {
    const warm = rig.start();
    await waitFor('a fee quote', async () => (await rig.store.getChainStatus())?.quote);
    await warm.drain();
    const ids = await rig.queue(200);
    let settled = false;
    const first = rig.start({
      onStep: (step) => {
        if (step !== 'leaves_settled') return;
        settled = true;
        void first.drain();
      },
    });
    await pending(1);
    await rig.node.mine();
    await waitFor('the first settlement', () => settled);
    await first.drain();
    const verified = await Promise.all(ids.map(async (id) => (await rig.task(id)).status));
    expect(verified.filter((status) => status === 'verified')).toHaveLength(64);

    rig.start();

    await rig.verified(ids);
    expect(await rig.minedAnchors()).toHaveLength(1);
  });
});

describe('when the chain misbehaves', () => {
  it('a dropped transaction is broadcast again with the same bytes', async () => {
    rig.start({ bumpAfterMs: 200 });
    const ids = await rig.queue();
    await pending(1);
    const [task] = await Promise.all(ids.map((id) => rig.task(id)));
    const txHash = task?.completion?.txHash;

    await rig.node.rpc('anvil_dropTransaction', [txHash]);
    await pending(1);
    await rig.node.mine();
    await rig.verified(ids);

    expect((await rig.minedAnchors()).map(({ hash }) => hash)).toEqual([txHash]);
  });

  it('proofs wait while the account cannot pay, and are anchored after a top-up', async () => {
    rig.start();
    await waitFor('a fee quote', async () => (await rig.store.getChainStatus())?.quote);
    await rig.node.rpc('anvil_setBalance', [rig.sender, '0x1']);
    const ids = await rig.queue();
    await degradedBy('underfunded');
    expect((await rig.task(ids[0] ?? '')).completion?.state).toBe('queued');

    await rig.node.rpc('anvil_setBalance', [rig.sender, '0xde0b6b3a7640000']);
    await pending(1);
    await rig.node.mine();

    await rig.verified(ids);
    await wellAgain();
  });

  it('a broadcast whose answer is lost ends in one transaction', async () => {
    rig.start({ bumpAfterMs: 200 });
    await waitFor('a fee quote', async () => (await rig.store.getChainStatus())?.quote);
    let lost = 0;
    rig.proxy.intercept(({ method, params }) => {
      if (method !== 'eth_sendRawTransaction' || lost > 0) return null;
      lost += 1;
      void rig.node.rpc(method, params);
      return { error: { code: -32603, message: 'Internal error' } };
    });

    const ids = await rig.queue();
    await pending(1);
    await rig.node.mine();
    await rig.verified(ids);

    expect(lost).toBe(1);
    expect(await rig.minedAnchors()).toHaveLength(1);
  });

  it('nothing is signed above the fee cap', async () => {
    rig.start({ maxFeePerGas: 1_000_000_000n });
    const ids = await rig.queue();

    await degradedBy('fee_cap');

    await staysQueued(ids[0]);
  });

  it('no tip exceeds its cap', async () => {
    rig.start({ maxPriorityFeePerGas: 7n });
    await rig.queue();
    await pending(1);

    await rig.node.mine();

    const [anchor] = await rig.minedAnchors();
    const mined = await rig.node.rpc<{ maxPriorityFeePerGas: Hex }>('eth_getTransactionByHash', [
      anchor?.hash,
    ]);
    expect(BigInt(mined.maxPriorityFeePerGas)).toBe(7n);
  });

  it('nothing new is signed above the hourly cap, except replacements', async () => {
    // A single costs at most about 25 000 gas at 3 gwei here.
    rig.start({ batchMax: 1, bumpAfterMs: 300, maxSpendWeiPerHour: 10n ** 14n });
    const [first] = await rig.queue();
    const variants = async () => (await rig.task(first ?? '')).completion?.txHash;
    await pending(1);
    const [second] = await rig.queue();
    await degradedBy('spend_cap');
    const before = await variants();
    await rig.node.rpc('anvil_setNextBlockBaseFeePerGas', ['0x174876e800']);
    await rig.node.mine();
    await waitFor('a replacement', async () => (await variants()) !== before);
    // The first replacement may offer too little still: it may be older than the quote of the new fee.
    await waitFor('the first to be verified', async () => {
      await rig.node.mine();
      return (await rig.task(first ?? '')).status === 'verified';
    });

    await staysQueued(second);
  });

  it('nothing is signed by an account with code', async () => {
    await rig.node.rpc('anvil_setCode', [rig.sender, '0x00']);
    rig.start();
    const ids = await rig.queue();

    await degradedBy('sender_has_code');

    await staysQueued(ids[0]);
  });

  it('nothing is signed once another party has used a nonce of the account', async () => {
    rig.start();
    const ids = await rig.queue();
    await pending(1);
    await rig.node.mine();
    await rig.verified(ids);
    await rig.node.rpc('eth_sendTransaction', [{ from: rig.sender, to: rig.sender }]);
    await rig.node.mine();
    await degradedBy('nonce_conflict');

    const [after] = await rig.queue();

    await staysQueued(after);
  });

  it('a foreign transaction with the nonce of a signed attempt is a conflict, not a failure', async () => {
    rig.start();
    const ids = await rig.queue();
    await pending(1);
    const txHash = (await rig.task(ids[0] ?? '')).completion?.txHash;
    await rig.node.rpc('anvil_dropTransaction', [txHash]);
    await rig.node.rpc('eth_sendTransaction', [{ from: rig.sender, to: rig.sender }]);
    await rig.node.mine();

    await degradedBy('nonce_conflict');

    expect((await rig.task(ids[0] ?? '')).completion?.state).toBe('submitted');
  });

  it('the first nonce waits for pending transactions of the account', async () => {
    await rig.node.rpc('eth_sendTransaction', [{ from: rig.sender, to: rig.sender }]);
    rig.start();
    const ids = await rig.queue();
    await degradedBy('sender_busy');

    await rig.node.mine();
    await pending(1);
    await rig.node.mine();

    await rig.verified(ids);
    expect((await rig.minedAnchors()).map(({ nonce }) => nonce)).toEqual([1]);
  });

  it('a different chain behind the URL stops anchoring', async () => {
    rig.start();
    await waitFor('a fee quote', async () => (await rig.store.getChainStatus())?.quote);
    rig.proxy.intercept(({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : null));
    const ids = await rig.queue();

    await degradedBy('chain_mismatch');

    await staysQueued(ids[0]);
  });

  it('nothing is recorded from another chain with the same id', async () => {
    rig.start();
    const ids = await rig.queue();
    await pending(1);
    const genesis = { number: '0x0', hash: `0x${'ee'.repeat(32)}`, timestamp: '0x0' };
    rig.proxy.intercept(({ params }) => (params[0] === '0x0' ? { result: genesis } : null));
    rig.proxy.asked.methods.length = 0;

    await rig.node.mine();
    await degradedBy('chain_mismatch');

    expect((await rig.task(ids[0] ?? '')).completion?.state).toBe('submitted');
    expect(rig.proxy.asked.methods).not.toContain('eth_sendRawTransaction');
    rig.proxy.restore();
    await rig.verified(ids);
  });
});

describe('a lost lease', () => {
  it('stops the anchorer until it is free again', async () => {
    rig.start({ leaseTtlMs: 600 });
    await waitFor('a fee quote', async () => (await rig.store.getChainStatus())?.quote);
    await rig.store.holdQueue(Date.now());
    await waitFor('the loss', () => rig.log.join('').includes('lost anchoring lease'));
    await waitFor('the warning that names the command', () =>
      rig.log.some((line) => /"level":40.*anchoring is paused.*svc-server reconcile/.test(line)),
    );
    const ids = await rig.queue();
    expect((await rig.task(ids[0] ?? '')).completion?.state).toBe('queued');

    await rig.store.liftHold([{ chainId: 31337, address: rig.sender }], Date.now());
    await pending(1);
    await rig.node.mine();

    await rig.verified(ids);
  });
});

describe('drain', () => {
  it.each([
    ['ends every connection', () => rig.proxy.cut()],
    ['hangs', () => rig.proxy.hang()],
  ])('ends promptly while the node %s, and releases the lease', async (_what, misbehave) => {
    // Longer than a test may take.
    const anchorer = rig.start({ timeoutMs: 600_000 });
    await rig.queue();
    await pending(1);
    misbehave();

    await anchorer.drain();

    const sender = { chainId: 31337, address: rig.sender };
    expect(await rig.store.acquireLease(sender, 'next', 1_000, Date.now())).not.toBeNull();
  });

  it('ends before the chain was ever reached', async () => {
    rig.proxy.hang();
    const anchorer = rig.start();

    await expect(anchorer.drain()).resolves.toBeUndefined();
  });
});
