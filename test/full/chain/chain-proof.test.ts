import { fromRlp, keccak256, numberToHex, parseTransaction } from 'viem';
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

const local = provenBundle({ others: 6 });

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

  afterEach(() => proxy.mend());

  afterAll(async () => {
    await rpc.close();
    await proxy.close();
    await node.close();
  });

  it('gives what verifies a bundle with the chain stopped', async (context) => {
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
