import { fromRlp, keccak256, numberToHex, parseTransaction, toRlp } from 'viem';
import { parseTransaction as parseOpStack } from 'viem/op-stack';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type BlockPlace, readChainProof } from '../../../src/chain/chain-proof.ts';
import { ProviderError } from '../../../src/chain/errors.ts';
import { type Ask, connectRpc, type Rpc } from '../../../src/chain/rpc.ts';
import { readBlockHeader } from '../../../src/proof/block-header.ts';
import { bytesToHex, type Hex } from '../../../src/proof/bytes.ts';
import { auditChainProof } from '../../../src/proof/chain-proof.ts';
import { valueInTrie } from '../../../src/proof/trie.ts';
import { anvilAccounts, startTestChain, type TestChain } from '../../support/anvil.ts';
import { provenBundle, sign } from '../../support/proven-bundle.ts';
import { pythonVerdicts } from '../../support/python-verifier.ts';
import { type RealBlock, realBlocks, typeOf } from '../../support/real-blocks.ts';
import { type RpcProxy, startRpcProxy } from '../../support/rpc-proxy.ts';

/** What a node answers to each method; it refuses the others. */
type Answers = Record<string, (param: unknown) => unknown>;

function nodeWith(answers: Answers): Ask {
  return async (calls) =>
    calls.map(({ method, params }) => {
      const answer = answers[method];
      if (answer !== undefined) return { ok: true, result: answer(params[0]) };
      return { ok: false, refusal: { rpcCode: -32601, reason: `no ${method}` } };
    });
}

const headerNames =
  'parentHash sha3Uncles miner stateRoot transactionsRoot receiptsRoot logsBloom difficulty number gasLimit gasUsed timestamp extraData mixHash nonce baseFeePerGas withdrawalsRoot blobGasUsed excessBlobGas parentBeaconBlockRoot requestsHash blockAccessListHash slotNumber'.split(
    ' ',
  );
const quantities = new Set(
  'difficulty number gasLimit gasUsed timestamp baseFeePerGas blobGasUsed excessBlobGas slotNumber'.split(
    ' ',
  ),
);

type Block = Pick<RealBlock, 'header' | 'transactions'>;

/** The block as a node returns it, with members that are in no header. */
function jsonBlock({ header, transactions }: Block): Record<string, unknown> {
  const members = fromRlp(header, 'hex') as Hex[];
  const named = members.map((value, i) => {
    const name = headerNames[i] ?? '';
    return [name, quantities.has(name) ? numberToHex(BigInt(value === '0x' ? 0 : value)) : value];
  });
  return {
    ...Object.fromEntries(named),
    hash: keccak256(header),
    size: '0x1',
    totalDifficulty: '0x0',
    uncles: [],
    withdrawals: [],
    transactions: transactions.map(jsonTransaction),
  };
}

function jsonTransaction(raw: Hex): Record<string, unknown> {
  const type = typeOf(raw);
  const parsed: Record<string, unknown> =
    type === 126 ? { ...(parseOpStack(raw as never) as object) } : { ...parseTransaction(raw) };
  const { data, ...members } = parsed;
  const zeros = Object.fromEntries(
    'nonce gas gasPrice maxFeePerGas maxPriorityFeePerGas value v yParity'
      .split(' ')
      .map((name) => [name, '0x0']),
  );
  return {
    ...zeros,
    accessList: [],
    ...JSON.parse(JSON.stringify(members, hexOf)),
    to: members.to ?? null,
    input: data ?? '0x',
    type: numberToHex(type),
    hash: keccak256(raw),
  };
}

function hexOf(name: string, value: unknown): unknown {
  return name !== 'type' && (typeof value === 'bigint' || typeof value === 'number')
    ? numberToHex(value)
    : value;
}

function placeIn({ header, transactions }: Block, txIndex: number): BlockPlace {
  return {
    blockNumber: readBlockHeader(header).number,
    blockHash: keccak256(header),
    txIndex,
    txHash: keccak256(transactions[txIndex] ?? '0x'),
  };
}

function rawBlock({ header, transactions }: Block): Hex {
  const listed = transactions.map((raw) => (typeOf(raw) === 0 ? fromRlp(raw, 'hex') : raw));
  return toRlp([fromRlp(header, 'hex'), listed, []] as never);
}

const local = provenBundle({ others: 6 });
const block: Block = {
  header: local.bundle.chain_proof.header,
  transactions: local.transactions,
};
const place = placeIn(block, 3);
const proof = local.bundle.chain_proof;

/** A node that has `block`, with members of the JSON replaced. */
function nodeOf(changes: Record<string, unknown>, more: Answers = {}): Ask {
  return nodeWith({ eth_getBlockByHash: () => ({ ...jsonBlock(block), ...changes }), ...more });
}

/** The JSON transactions, with that one of a type unknown to us. */
function withUnknown(index: number): unknown[] {
  return block.transactions.map((raw, i) =>
    i === index ? { ...jsonTransaction(raw), type: '0x7f' } : jsonTransaction(raw),
  );
}

describe('readChainProof', () => {
  it.each(realBlocks)('proves transactions of $name from the JSON block', async (real) => {
    const ask = nodeWith({ eth_getBlockByHash: () => jsonBlock(real) });
    const types = new Map(real.transactions.map((raw, i) => [typeOf(raw), i]));

    for (const txIndex of types.values()) {
      const at = placeIn(real, txIndex);
      const found = await readChainProof(ask, at);
      const { transactionsRoot } = readBlockHeader(real.header);
      const value = valueInTrie(transactionsRoot, txIndex, found?.nodes ?? []);

      expect(found?.header).toBe(real.header);
      expect(value && bytesToHex(value)).toBe(real.transactions[txIndex]);
    }
  });

  it('proves a transaction in a block with the header of Amsterdam', async () => {
    const members = fromRlp(block.header, 'hex') as Hex[];
    const hash = keccak256('0x01');
    const header = toRlp([...members, hash, hash, '0x07']);
    const later = { ...block, header };
    const ask = nodeWith({ eth_getBlockByHash: () => jsonBlock(later) });

    expect(members).toHaveLength(20);
    expect(await readChainProof(ask, placeIn(later, 3))).toEqual({ header, nodes: proof.nodes });
  });

  it('asks for the block alone if its JSON is enough', async () => {
    const asked: string[] = [];
    const ask: Ask = (calls) => {
      asked.push(...calls.map(({ method }) => method));
      return nodeOf({})(calls);
    };

    expect(await readChainProof(ask, place)).toEqual(proof);
    expect(asked).toEqual(['eth_getBlockByHash']);
  });

  it("omits the state-sync entry of Polygon's nodes", async () => {
    const zero = `0x${'00'.repeat(20)}`;
    const entry = { type: '0x0', from: zero, to: zero, input: '0x', hash: keccak256('0x05') };
    const none = Object.fromEntries(
      'nonce gas gasPrice value v r s'.split(' ').map((name) => [name, '0x0']),
    );
    const transactions = [...block.transactions.map(jsonTransaction), { ...entry, ...none }];

    expect(await readChainProof(nodeOf({ transactions }), place)).toEqual(proof);
  });

  it.each(['eth_getRawTransactionByHash', 'debug_getRawTransaction'])(
    'reads a transaction of an unknown type with %s',
    async (method) => {
      const rawOf = (hash: unknown) => block.transactions.find((raw) => keccak256(raw) === hash);
      const ask = nodeOf({ transactions: withUnknown(1) }, { [method]: rawOf });

      expect(await readChainProof(ask, place)).toEqual(proof);
    },
  );

  it.each<[string, Record<string, unknown>]>([
    ['a transaction of an unknown type', { transactions: withUnknown(1) }],
    ['a header that JSON does not show whole', { stateRoot: keccak256('0x01') }],
    ['a malformed header', { difficulty: 7 }],
    ['a transaction left out', { transactions: withUnknown(1).slice(1) }],
  ])('reads the raw block for %s', async (_, changes) => {
    const ask = nodeOf(changes, { debug_getRawBlock: () => rawBlock(block) });

    expect(await readChainProof(ask, place)).toEqual(proof);
  });

  it.each<[string, Ask, Partial<BlockPlace>?]>([
    ['the node does not have the block', nodeWith({ eth_getBlockByHash: () => null })],
    ['the header has another hash', nodeOf({ stateRoot: keccak256('0x01') })],
    ['a transaction has an unknown type', nodeOf({ transactions: withUnknown(1) })],
    ['the list is shorter', nodeOf({ transactions: withUnknown(1).slice(0, 1) })],
    ['the list is absent', nodeOf({ transactions: undefined })],
    [
      'a raw transaction is another',
      nodeOf(
        { transactions: withUnknown(1) },
        { eth_getRawTransactionByHash: () => block.transactions[0] },
      ),
    ],
    [
      'the raw block is another',
      nodeOf(
        { transactions: [] },
        { debug_getRawBlock: () => rawBlock({ ...block, transactions: [] }) },
      ),
    ],
    ['the raw block is not RLP', nodeOf({ transactions: [] }, { debug_getRawBlock: () => '0xc3' })],
    ['the raw block is null', nodeOf({ transactions: [] }, { debug_getRawBlock: () => null })],
    ['another transaction has the index', nodeOf({}), { txIndex: 2 }],
    ['the block has another number', nodeOf({}), { blockNumber: 43n }],
    ['the index is beyond the block', nodeOf({}), { txIndex: 99 }],
  ])('is null if %s', async (_, ask, changes) => {
    expect(await readChainProof(ask, { ...place, ...changes })).toBeNull();
  });

  it('rejects if the node refuses to return the block', async () => {
    await expect(readChainProof(nodeWith({}), place)).rejects.toThrow(ProviderError);
  });
});

// The last test stops the chain.
describe('readChainProof on a local chain', { shuffle: false }, () => {
  let node: TestChain;
  let proxy: RpcProxy;
  let rpc: Rpc;
  /** The signed transactions of a block, the anchor last, and where the anchor is. */
  let signed: Hex[];
  let mined: BlockPlace;

  beforeAll(async () => {
    node = await startTestChain();
    proxy = await startRpcProxy(node.url);
    rpc = connectRpc({ url: proxy.url });
    const other = anvilAccounts[1];
    const types = ['legacy', 'eip2930', 'legacy'] as const;
    const fees = { gas: 60_000n, gasPrice: 3_000_000_000n };
    signed = types.map((type, nonce) =>
      sign({ type, chainId: 31337, nonce, to: other.address, ...fees }, other.privateKey),
    );
    signed.push(provenBundle({ transaction: { nonce: 0 } }).bundle.anchor.raw_tx);
    for (const raw of signed) await node.rpc('eth_sendRawTransaction', [raw]);
    await node.mine();
    const txHash = keccak256(signed.at(-1) ?? '0x');
    const receipt = await node.rpc<Record<string, Hex>>('eth_getTransactionReceipt', [txHash]);
    mined = {
      blockNumber: BigInt(receipt.blockNumber ?? 0),
      blockHash: receipt.blockHash as Hex,
      txIndex: Number(receipt.transactionIndex),
      txHash,
    };
  });

  afterEach(() => proxy.restore());

  afterAll(async () => {
    await rpc.close();
    await proxy.close();
    await node.close();
  });

  type Json = Record<string, unknown>;

  /** The block as the node has it. */
  const blockOfNode = () => node.rpc<Json>('eth_getBlockByHash', [mined.blockHash, true]);

  /** Answers these methods in place of the node; null is passed on. */
  const answerWith = (answers: Record<string, (param: unknown) => unknown>) =>
    proxy.intercept(({ method, params }) => {
      const answer = answers[method];
      return answer === undefined ? null : { result: answer(params[0]) };
    });

  const rawOf = (hash: unknown) => signed.find((raw) => keccak256(raw) === hash) ?? null;

  it.each(['eth_getRawTransactionByHash', 'debug_getRawTransaction'])(
    'reads transactions of an unknown type with %s',
    async (method) => {
      const honest = await readChainProof(rpc.reading, mined);
      const found = await blockOfNode();
      const transactions = (found.transactions as Json[]).map((tx) => ({ ...tx, type: '0x7f' }));
      answerWith({
        eth_getBlockByHash: () => ({ ...found, transactions }),
        eth_getRawTransactionByHash: () => null,
        debug_getRawTransaction: () => null,
        [method]: rawOf,
      });

      expect(await readChainProof(rpc.reading, mined)).toEqual(honest);
      expect(proxy.asked.methods).toContain(method);
    },
  );

  it('reads the raw block if the JSON block has another header', async () => {
    const honest = await readChainProof(rpc.reading, mined);
    const found = await blockOfNode();
    const transactions = (found.transactions as Json[]).map(({ hash }) => rawOf(hash) ?? '0x');
    const raw = rawBlock({ header: honest?.header ?? '0x', transactions });
    answerWith({
      eth_getBlockByHash: () => ({ ...found, stateRoot: keccak256('0x01') }),
      debug_getRawBlock: () => raw,
    });

    expect(await readChainProof(rpc.reading, mined)).toEqual(honest);
  });

  it('proves a transaction in a block with the header of Amsterdam', async () => {
    const before = await readChainProof(rpc.reading, mined);
    const members = fromRlp(before?.header ?? '0x', 'hex') as Hex[];
    const [requestsHash, blockAccessListHash] = [keccak256('0x01'), keccak256('0x02')];
    const added = { requestsHash, blockAccessListHash, slotNumber: '0x7' };
    const header = toRlp([...members.slice(0, 20), requestsHash, blockAccessListHash, '0x07']);
    const hash = keccak256(header);
    const found = await blockOfNode();
    answerWith({
      eth_getBlockByHash: (param) => (param === hash ? { ...found, ...added, hash } : null),
    });

    const proof = await readChainProof(rpc.reading, { ...mined, blockHash: hash });

    expect(proof).toEqual({ header, nodes: before?.nodes });
    expect(readBlockHeader(proof?.header ?? '0x').hash).toBe(hash);
  });

  it('is sufficient to verify a bundle while the chain is stopped', async (context) => {
    const { bundle } = local;
    const { txHash } = mined;
    const found = await readChainProof(rpc.reading, mined);
    proxy.cut();
    await node.close();

    if (found === null) throw new Error('no chain proof');
    const { timestamp } = readBlockHeader(found.header);
    const anchored = {
      ...bundle,
      anchor: {
        ...bundle.anchor,
        tx_hash: txHash,
        raw_tx: signed.at(-1) ?? '0x',
        block_number: mined.blockNumber.toString(),
        block_hash: mined.blockHash,
        tx_index: mined.txIndex,
        anchored_at: timestamp,
      },
      chain_proof: found,
    };
    const checks = auditChainProof(anchored, mined.blockHash);
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
    const file = { content: JSON.stringify(anchored), blockHash: mined.blockHash };
    expect(pythonVerdicts(context, [file])).toMatchObject([{ failed: [] }]);
    await expect(readChainProof(rpc.reading, mined)).rejects.toThrow(ProviderError);
  });
});
