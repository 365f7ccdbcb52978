// How nodes and providers really answer when they are asked for receipts.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadAnchorKey } from '../../src/chain/keys/anchor-key.ts';
import type { Hex } from '../../src/proof/bytes.ts';
import { encodePayload } from '../../src/proof/payload.ts';
import { type AnchoringRig, startAnchoringRig } from '../support/anchoring-rig.ts';
import { anvilAccounts } from '../support/anvil.ts';
import { changeResult, refuses, rewrite } from '../support/node-behavior.ts';
import type { RpcProxy } from '../support/rpc-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

const RECEIPT = 'eth_getTransactionReceipt';
const gwei = 10n ** 9n;

let rig: AnchoringRig;

beforeEach(async () => {
  rig = await startAnchoringRig({}, 2);
});
afterEach(() => rig.closeSound());

/** What comes in place of an answer. */
type Entry = (answer: object) => object;

/** The entry comes where there is no receipt, or for every hash. */
const unknown =
  (entry: Entry, of: 'absent' | 'every' = 'every') =>
  (proxy: RpcProxy) =>
    rewrite((answer, { method }) => {
      const { result } = answer as { result?: unknown };
      const isOne = method === RECEIPT && (of === 'every' || result === null);
      return isOne ? entry(answer) : answer;
    })(proxy);

const indexing: Entry = ({ result: _, ...answer }: { result?: unknown }) => ({
  ...answer,
  ...refuses('transaction indexing is in progress'),
});

const entries: { name: string; report: string; entry: Entry }[] = [
  {
    name: 'an error while it indexes transactions',
    report: 'go-ethereum 29956, ethers.js 4999',
    entry: indexing,
  },
  {
    name: 'that the transaction is not found',
    report: 'cosmos/evm 380, zkevm-node 255',
    entry: ({ result: _, ...answer }: { result?: unknown }) => ({
      ...answer,
      ...refuses('tx not found', -32603),
    }),
  },
  {
    name: 'no result at all',
    report: 'of our own',
    entry: ({ result: _, ...answer }: { result?: unknown }) => answer,
  },
  {
    name: 'a text',
    report: 'of our own',
    entry: (answer) => ({ ...answer, result: 'pending' }),
  },
  {
    name: 'the receipt of another transaction',
    report: 'of our own',
    entry: (answer) => ({
      ...answer,
      result: {
        transactionHash: `0x${'ab'.repeat(32)}`,
        blockHash: `0x${'cd'.repeat(32)}`,
        blockNumber: '0x1',
        transactionIndex: '0x0',
        status: '0x1',
        gasUsed: '0x5208',
        effectiveGasPrice: '0x1',
      },
    }),
  },
];

const behave = (entry: Entry, of: 'absent' | 'every', urls: readonly number[] = [0, 1]) => {
  for (const i of urls) unknown(entry, of)(rig.proxies[i] as RpcProxy);
};
const restore = () => {
  for (const proxy of rig.proxies) proxy.restore();
};
const sent = (count: number) => rig.pending(count);
const stateOf = async (id: string) => (await rig.task(id)).completion?.state;
const asked = (method: string) =>
  rig.proxies.flatMap((proxy) => proxy.asked.methods).filter((one) => one === method).length;
/** Resolves after that many more readings of fees, so after that many rounds of the loop. */
const moreRounds = async (count: number) => {
  const before = asked('eth_estimateGas');
  await waitFor(`${count} rounds`, () => asked('eth_estimateGas') >= before + 2 * count);
};
const one = async () => (await rig.queue())[0] ?? '';
/** A proof whose transaction is in a block, and whose receipt is unknown. */
const minedUnread = async () => {
  const id = await one();
  await sent(1);
  await rig.node.mine();
  return id;
};
const send = async (payload: Hex, nonce: number) => {
  const key = await loadAnchorKey({ privateKey: anvilAccounts[0].privateKey });
  const { rawTx } = await key.signTransaction({
    chainId: 31337,
    nonce,
    payload,
    gas: 100_000n,
    maxFeePerGas: 100n * gwei,
    maxPriorityFeePerGas: 50n * gwei,
  });
  await rig.node.rpc('eth_sendRawTransaction', [rawTx]);
  await rig.node.mine();
};
const dropAll = async () => {
  await rig.node.rpc('anvil_dropAllTransactions');
};
const anchorOfAnother = encodePayload({
  kind: 'batch',
  root: `0x${'11'.repeat(32)}`,
  leaf_count: 2,
});

describe('a node that answers', () => {
  it.each(entries)(
    '$name for a replaced transaction does not stop anchoring ($report)',
    async ({ entry }) => {
      behave(entry, 'absent');
      rig.start({ bumpAfterMs: 300 });
      const id = await one();
      await sent(1);
      const before = (await rig.task(id)).completion?.txHash;
      await rig.node.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(100n * gwei).toString(16)}`]);
      await rig.node.mine();
      await waitFor('a replacement in the pool', async () => {
        const txHash = (await rig.task(id)).completion?.txHash;
        return txHash !== before && (await rig.node.rpc('eth_getTransactionByHash', [txHash]));
      });
      await rig.node.mine();
      await rig.verified([id]);

      const next = await one();
      await sent(1);
      await rig.node.mine();
      await rig.verified([next]);

      expect((await rig.minedAnchors()).map(({ nonce }) => nonce)).toEqual([0, 1]);
    },
  );

  it.each(entries)(
    '$name for every transaction does not stop anchoring ($report)',
    async ({ entry }) => {
      behave(entry, 'every');
      rig.start({ maxInFlight: 1 });
      const first = await minedUnread();

      const second = await minedUnread();

      expect([await stateOf(first), await stateOf(second)]).toEqual(['submitted', 'submitted']);
      expect(await rig.degraded()).toContain('provider_unhealthy');
      restore();
      const tasks = await rig.verified([first, second]);
      expect(tasks.map(({ completion }) => completion?.attempts)).toEqual([1, 1]);
      expect((await rig.minedAnchors()).map(({ nonce }) => nonce)).toEqual([0, 1]);
    },
  );
});

const WALLET = anvilAccounts[1].address;
const gasCredit = async () => (await rig.store.getBalance(WALLET))?.gasCreditWei ?? 0n;

/** How a receipt differs from that of anvil, and what is charged for the transaction. */
const costs: {
  name: string;
  report: string;
  receipt: object;
  gas: 'used' | 'limit';
}[] = [
  {
    name: 'no price',
    report: 'iotex-core 4478, moko-web3 67',
    receipt: { effectiveGasPrice: undefined },
    gas: 'used',
  },
  { name: 'a null price', report: 'bsc 1980', receipt: { effectiveGasPrice: null }, gas: 'used' },
  {
    name: 'a price above the signed fee',
    report: 'of our own',
    receipt: { effectiveGasPrice: `0x${'f'.repeat(64)}` },
    gas: 'used',
  },
  {
    name: 'a price in decimal digits',
    report: 'of our own',
    receipt: { effectiveGasPrice: 1_000_000_000 },
    gas: 'used',
  },
  {
    name: 'gas above the limit',
    report: 'of our own',
    receipt: { gasUsed: '0xffffff' },
    gas: 'limit',
  },
  { name: 'no gas', report: 'of our own', receipt: { gasUsed: null }, gas: 'limit' },
];

describe('a receipt with', () => {
  const change = (changes: object, urls: readonly number[] = [0, 1]) => {
    const behave = changeResult(RECEIPT, (receipt) => ({ ...receipt, ...changes }));
    for (const i of urls) behave(rig.proxies[i] as RpcProxy);
  };
  const mined = async () => {
    const before = await gasCredit();
    const id = await one();
    await sent(1);
    const reserved = before - (await gasCredit());
    await rig.node.mine();
    await rig.verified([id]);
    const [anchor] = await rig.minedAnchors();
    const read = (method: string) => rig.node.rpc<Record<string, Hex>>(method, [anchor?.hash]);
    const receipt = await read(RECEIPT);
    const tx = await read('eth_getTransactionByHash');
    const reported = BigInt(receipt.effectiveGasPrice ?? 0) * BigInt(receipt.gasUsed ?? 0);
    return { receipt, tx, reserved, reported, charged: before - (await gasCredit()) };
  };

  it.each(costs)('$name is settled at the signed cost ($report)', async ({ receipt, gas }) => {
    change(receipt);
    rig.start();

    const { tx, receipt: real, reserved, charged } = await mined();

    // The price of an anvil block is base fee plus tip.
    const price = BigInt(real.effectiveGasPrice ?? 0);
    const cost = price * BigInt((gas === 'used' ? real.gasUsed : tx.gas) ?? 0);
    expect(charged).toBe(cost < reserved ? cost : reserved);
  });

  it.each(costs)('$name from one provider costs what the other reports ($report)', async (row) => {
    change(row.receipt, [0]);
    rig.start();

    const { reported, charged } = await mined();

    expect(charged).toBe(reported);
  });

  it('a lower price from one provider costs the lower one (of our own)', async () => {
    change({ effectiveGasPrice: '0x1' }, [1]);
    rig.start();

    const { receipt, charged } = await mined();

    expect(charged).toBe(BigInt(receipt.gasUsed ?? 0));
  });

  it('another place from one provider is not settled (of our own)', async () => {
    change({ blockHash: `0x${'ee'.repeat(32)}` }, [1]);
    rig.start();
    const id = await one();
    await sent(1);
    await rig.node.mine();
    await moreRounds(3);

    expect(await stateOf(id)).toBe('submitted');
    restore();
    await rig.verified([id]);
  });
});

describe('an unknown receipt', () => {
  it('of one provider of two gives no receipt and does not stop anchoring (of our own)', async () => {
    behave(indexing, 'every', [1]);
    rig.start();
    const first = await minedUnread();

    const second = await minedUnread();

    expect([await stateOf(first), await stateOf(second)]).toEqual(['submitted', 'submitted']);
    restore();
    await rig.verified([first, second]);
    expect(await rig.minedAnchors()).toHaveLength(2);
  });

  it('does not stop anchoring after a restart (of our own)', async () => {
    behave(indexing, 'every');
    const before = rig.start();
    const first = await minedUnread();
    await before.drain();

    rig.start();
    const second = await minedUnread();

    restore();
    await rig.verified([first, second]);
    expect((await rig.minedAnchors()).map(({ nonce }) => nonce)).toEqual([0, 1]);
  });

  it('does not hide another database that uses the key (of our own)', async () => {
    behave(indexing, 'every');
    const before = rig.start();
    const first = await one();
    await sent(1);
    await before.drain();
    await dropAll();
    await send(anchorOfAnother, 0);

    rig.start();
    const second = await one();
    await waitFor('the report', () => rig.log.some((line) => /another database/.test(line)));
    await moreRounds(3);

    expect([await stateOf(first), await stateOf(second)]).toEqual(['submitted', 'queued']);
    expect(await rig.degraded()).toContain('nonce_conflict');
    expect(await rig.minedAnchors()).toHaveLength(1);
  });

  it('of one provider ends no attempt that failed at the other (of our own)', async () => {
    rig.start();
    const id = await one();
    await sent(1);
    behave(indexing, 'every', [1]);
    // Code that reverts everything; only a delegated account can have it.
    await rig.node.rpc('anvil_setCode', [rig.sender, '0x60006000fd']);
    await rig.node.mine();
    await rig.node.rpc('anvil_setCode', [rig.sender, '0x']);
    for (let i = 0; i < 3; i += 1) await rig.node.mine();
    await moreRounds(5);

    expect(await stateOf(id)).toBe('submitted');
    restore();
    await sent(1);
    await rig.node.mine();
    const [task] = await rig.verified([id]);
    expect(task?.completion?.attempts).toBe(2);
  });

  it('is looked up in the blocks again after a reorganization (of our own)', async () => {
    behave(indexing, 'every');
    rig.start();
    const first = await minedUnread();
    const second = await minedUnread();
    await dropAll();
    await rig.node.rpc('anvil_reorg', [2, []]);
    await dropAll();
    await send(anchorOfAnother, 0);
    await rig.node.mine();

    await waitFor('the report', () => rig.log.some((line) => /another database/.test(line)));
    await waitFor('the hold', async () => (await rig.degraded()).includes('nonce_conflict'));
    const third = await one();
    await moreRounds(3);

    expect(await Promise.all([first, second, third].map(stateOf))).toEqual([
      'submitted',
      'submitted',
      'queued',
    ]);
  });

  it('ends with one anchor after a reorganization that drops it (of our own)', async () => {
    behave(indexing, 'every');
    rig.start({ bumpAfterMs: 1_000 });
    const first = await minedUnread();
    const second = await minedUnread();
    await rig.node.rpc('anvil_reorg', [2, []]);

    await sent(2);
    await rig.node.mine();
    restore();
    const tasks = await rig.verified([first, second]);

    expect(tasks.map(({ completion }) => completion?.attempts)).toEqual([1, 1]);
    expect((await rig.minedAnchors()).map(({ nonce }) => nonce)).toEqual([0, 1]);
  });
});
