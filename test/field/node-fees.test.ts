// What nodes and providers really say of fees.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import { type AnchoringRig, startAnchoringRig } from '../support/anchoring-rig.ts';
import { anvilAccounts } from '../support/anvil.ts';
import { answers, refuses } from '../support/node-behavior.ts';
import type { Answer } from '../support/rpc-proxy.ts';

const gwei = 10n ** 9n;
const WALLET = anvilAccounts[1].address;

let rig: AnchoringRig;

beforeEach(async () => {
  rig = await startAnchoringRig();
});
afterEach(() => rig.closeSound());

const gasCredit = async () => (await rig.store.getBalance(WALLET))?.gasCreditWei ?? 0n;

/** A chain whose last 20 blocks have no base fee. anvil suggests a price of 1 gwei all the same. */
const withoutBaseFee = async () => {
  await rig.node.rpc('anvil_setNextBlockBaseFeePerGas', ['0x0']);
  await rig.node.rpc('anvil_mine', ['0x15']);
};
/** The fees of the first anchor, and what was charged for it. */
const anchored = async () => {
  const before = await gasCredit();
  const ids = await rig.queue();
  await rig.pending(1);
  await rig.node.mine();
  await rig.verified(ids);
  const [anchor] = await rig.minedAnchors();
  const tx = await rig.node.rpc<Record<string, Hex>>('eth_getTransactionByHash', [anchor?.hash]);
  return {
    fee: BigInt(tx.maxFeePerGas ?? -1),
    tip: BigInt(tx.maxPriorityFeePerGas ?? -1),
    charged: before - (await gasCredit()),
  };
};

const free: { name: string; report: string; balance: bigint; price?: Answer }[] = [
  {
    name: 'has no gas price either',
    report: 'besu 4003, hardhat-ignition 730',
    balance: 0n,
    price: { result: '0x0' },
  },
  {
    name: 'has no gas price, for an account with funds',
    report: 'of our own',
    balance: gwei * gwei,
    price: { result: '0x0' },
  },
  {
    name: 'suggests a price far above the market, for an account without funds',
    report: 'metamask-extension 19863',
    balance: 0n,
  },
];

describe('a chain without base fee that', () => {
  it.each(free)('$name anchors at no cost ($report)', async ({ balance, price }) => {
    await withoutBaseFee();
    await rig.node.rpc('anvil_setBalance', [rig.sender, `0x${balance.toString(16)}`]);
    if (price) answers('eth_gasPrice', price)(rig.proxy);
    rig.start();

    expect(await anchored()).toEqual({ fee: 0n, tip: 0n, charged: 0n });
  });

  const paid: { name: string; report: string; method: string; answer: Answer }[] = [
    {
      name: 'has a gas price',
      report: 'besu 6335',
      method: 'eth_gasPrice',
      answer: { result: '0x3b9aca00' },
    },
    {
      name: 'had a base fee of 1 wei in one of these blocks',
      report: 'besu 4218',
      method: 'eth_feeHistory',
      answer: {
        result: {
          oldestBlock: '0x1',
          baseFeePerGas: ['0x0', '0x1', '0x0'],
          gasUsedRatio: [0, 0.6],
          reward: [['0x0'], ['0x0']],
        },
      },
    },
    {
      name: 'has a block with a transaction that pays a tip',
      report: 'of our own',
      method: 'eth_feeHistory',
      answer: {
        result: {
          oldestBlock: '0x1',
          baseFeePerGas: ['0x0', '0x0', '0x0'],
          gasUsedRatio: [0, 0.1],
          reward: [['0x0'], ['0x1']],
        },
      },
    },
    {
      name: 'has no history of fees',
      report: 'of our own',
      method: 'eth_feeHistory',
      answer: refuses('the method eth_feeHistory does not exist', -32601),
    },
    {
      name: 'has a history of fees without tips',
      report: 'of our own',
      method: 'eth_feeHistory',
      answer: { result: { oldestBlock: '0x1', baseFeePerGas: ['0x0'], gasUsedRatio: [] } },
    },
  ];

  it.each(paid)('$name is paid the suggested tip ($report)', async ({ method, answer }) => {
    await withoutBaseFee();
    rig.proxy.intercept((call) => {
      if (call.method === method) return answer;
      return call.method === 'eth_gasPrice' ? { result: '0x0' } : null;
    });
    rig.start();

    expect(await anchored()).toMatchObject({ tip: gwei });
  });
});

describe('a chain of the OP stack', () => {
  const word = (amount: bigint): Answer => ({
    result: `0x${amount.toString(16).padStart(64, '0')}`,
  });
  /** `getOperatorFee(uint256)`, and its argument. */
  const operatorFee = /^0x275aedd2([0-9a-f]{64})$/;
  /** Answers as its oracle does: `estimated` for the newest block, `charged` for the block of a receipt. */
  const behave = (estimated: Answer, charged: (gas: bigint) => Answer) => {
    rig.proxy.handle(async ({ calls, forward, answer }) => {
      const answers = await forward(calls);
      answer(
        answers.map((one, i) => {
          const { method = '', params = [] } = calls[i] ?? {};
          const [call, block] = params as [{ data?: string } | string, string];
          const data = typeof call === 'object' ? (call.data ?? '') : '';
          const [, gas] = operatorFee.exec(data) ?? [];
          if (gas !== undefined)
            return block === 'latest' ? estimated : charged(BigInt(`0x${gas}`));
          const isReceipt = method === 'eth_getTransactionReceipt' && 'result' in one && one.result;
          return isReceipt ? { result: { ...(one.result as object), l1Fee: '0x7' } } : one;
        }),
      );
    });
  };
  const cost = async () => {
    const [anchor] = await rig.minedAnchors();
    const receipt = await rig.node.rpc<Record<string, Hex>>('eth_getTransactionReceipt', [
      anchor?.hash,
    ]);
    const gasUsed = BigInt(receipt.gasUsed ?? 0);
    return { gasUsed, wei: gasUsed * BigInt(receipt.effectiveGasPrice ?? 0) + 7n };
  };

  it.each([
    ['Isthmus', 'optimism 12166', (gas: bigint) => (gas * 2_000_000n) / 1_000_000n + 300n],
    ['Jovian', 'optimism 16623, specs 764', (gas: bigint) => gas * 2n * 100n + 300n],
  ])('charges the operator fee of %s at the block of the receipt (%s)', async (_, __, fee) => {
    behave(word(10n * gwei * 30_000n), (gas) => word(fee(gas)));
    rig.start();

    const { charged } = await anchored();

    const { gasUsed, wei } = await cost();
    expect(charged).toBe(wei + fee(gasUsed));
  });

  it('reserves the operator fee, and charges no more than the reservation (of our own)', async () => {
    const estimated = 5_000n * gwei;
    behave(word(estimated), () => word(10n ** 20n));
    rig.start();
    const before = await gasCredit();

    const ids = await rig.queue();
    const reserved = before - (await gasCredit());
    const quote = (await rig.store.getChainStatus())?.quote;
    await rig.pending(1);
    await rig.node.mine();
    await rig.verified(ids);

    expect(quote?.dataFeeWei).toBe(estimated);
    expect(before - (await gasCredit())).toBe(reserved);
  });

  it.each([
    ['before Isthmus', { error: { code: 3, message: 'execution reverted' } }],
    ['that no longer keeps the state of the block', refuses('missing trie node')],
    ['whose oracle answers nothing', { result: '0x' }],
  ] as [string, Answer][])('%s charges the other fees (of our own)', async (_, answer) => {
    behave({ error: { code: 3, message: 'execution reverted' } }, () => answer);
    rig.start();

    const { charged } = await anchored();

    expect(charged).toBe((await cost()).wei);
  });
});
