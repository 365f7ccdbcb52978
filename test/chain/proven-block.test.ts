import { type Hex, keccak256, numberToHex, toRlp } from 'viem';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ProvenBlock, readProvenBlock } from '../../src/chain/chain-proof.ts';
import { type Ask, connectRpc, type Rpc } from '../../src/chain/rpc.ts';
import { hexToBytes } from '../../src/proof/bytes.ts';
import { encodePayload } from '../../src/proof/payload.ts';
import { anvilAccounts, startTestChain, type TestChain } from '../support/anvil.ts';
import { trieProof } from '../support/synthetic-block.ts';

const [{ address: from }, { address: other }, { address: third }] = anvilAccounts;
const sender = from.toLowerCase();
const payload = encodePayload({
  kind: 'single',
  proof_hash: `0x${'11'.repeat(32)}`,
  leaf: `0x${'22'.repeat(32)}`,
});

describe('a block that its hash proves', () => {
  let node: TestChain;
  let rpc: Rpc;
  beforeEach(async () => {
    node = await startTestChain();
    rpc = connectRpc({ url: node.url });
  });
  afterEach(async () => {
    await rpc.close();
    await node.close();
  });

  async function mined(transactions: readonly object[]) {
    const hashes: Hex[] = [];
    for (const tx of transactions) {
      const sent = { from, gas: '0x30d40', ...tx };
      hashes.push(await node.rpc<Hex>('eth_sendTransaction', [sent]));
    }
    await node.mine();
    const block = await node.rpc<{ hash: Hex; number: Hex; transactions: Hex[] }>(
      'eth_getBlockByNumber',
      ['latest', false],
    );
    return { hashes, block };
  }

  it('contains its anchors among transactions and receipts of every type', async () => {
    const fee = { gasPrice: numberToHex(10n ** 10n) };
    const accessList = [{ address: other, storageKeys: [`0x${'33'.repeat(32)}`] }];
    const { hashes, block } = await mined([
      { from: other, to: from, value: '0x1', ...fee },
      { from: third, to: third, data: payload, ...fee, accessList },
      // Emits a log with a topic and 32 bytes of data.
      { data: '0x604260206000a100' },
      { to: from, data: payload },
      // Reverts.
      { data: '0x60006000fd' },
      { to: from, data: `${payload}00` },
    ]);

    const found = await readProvenBlock(rpc.reading, block.hash);

    expect(found).toMatchObject({ hash: block.hash, number: BigInt(block.number) });
    const anchor = (index: number, account: string) => {
      const [hash, address] = [hashes[index] as Hex, account.toLowerCase()];
      const tx = { hash, chainId: 31_337n, from: address, to: address, value: 0n, input: payload };
      return [hash, { txIndex: block.transactions.indexOf(hash), status: 'success', tx }];
    };
    expect(block.transactions).toHaveLength(6);
    expect(new Map((found as ProvenBlock).anchors)).toEqual(
      new Map([anchor(1, third), anchor(3, from)] as never),
    );
  });

  it('has the status that its receipts root proves', async () => {
    // Reverts if it is called.
    const { hashes } = await mined([{ data: '0x6460006000fd6000526005601bf3' }]);
    const { contractAddress } = await node.rpc<{ contractAddress: Hex }>(
      'eth_getTransactionReceipt',
      [hashes[0]],
    );
    const called = await mined([{ to: contractAddress, data: payload }]);

    const found = await readProvenBlock(rpc.reading, called.block.hash);

    expect(found?.anchors.get(called.hashes[0] as Hex)).toMatchObject({ status: 'reverted' });
  });

  it('is null without transactions, or if the node does not have the block', async () => {
    const { block } = await mined([]);

    expect(await readProvenBlock(rpc.reading, block.hash)).toBeNull();
    expect(await readProvenBlock(rpc.reading, `0x${'44'.repeat(32)}`)).toBeNull();
  });
});

/** ethereum-optimism/op-geth, core/types/receipt.go: `depositReceiptRLP`, which the trie has since the Canyon fork. */
describe('the receipt of a deposit on an OP Stack chain', () => {
  const bloom: Hex = `0x${'00'.repeat(256)}`;
  const receipt = { status: '0x1', cumulativeGasUsed: '0x5208', logsBloom: bloom, logs: [] };

  it.each<[string, object, Hex[]]>([
    ['since Canyon', { depositNonce: '0x7', depositReceiptVersion: '0x1' }, ['0x07', '0x01']],
    ['before Canyon', { depositNonce: '0x7' }, []],
  ])('is in the trie with the encoding of %s', async (_, members, encoded) => {
    const transaction = {
      ...{ type: '0x7e', sourceHash: `0x${'55'.repeat(32)}`, from: sender, to: sender },
      ...{ mint: null, value: '0x0', gas: '0x5208', isSystemTx: false, input: '0x' },
    };
    const { sourceHash } = transaction;
    const tx = `0x7e${toRlp([sourceHash as Hex, sender as Hex, sender as Hex, '0x', '0x', '0x5208', '0x', '0x']).slice(2)}`;
    const trieValue = `0x7e${toRlp(['0x01', '0x5208', bloom, [], ...encoded]).slice(2)}`;
    const zeros = (bytes: number): Hex => `0x${'00'.repeat(bytes)}`;
    const header = {
      ...{ parentHash: zeros(32), sha3Uncles: zeros(32), miner: zeros(20), stateRoot: zeros(32) },
      transactionsRoot: trieProof([hexToBytes(tx)], 0).root,
      receiptsRoot: trieProof([hexToBytes(trieValue)], 0).root,
      ...{ logsBloom: bloom, difficulty: '0x0', number: '0x5', gasLimit: '0x5208' },
      ...{
        gasUsed: '0x5208',
        timestamp: '0x6',
        extraData: '0x',
        mixHash: zeros(32),
        nonce: zeros(8),
      },
    };
    const quantities = new Set(['0x0']);
    const hash = keccak256(
      toRlp(
        Object.values(header).map((value): Hex => {
          if (quantities.has(value)) return '0x';
          return (value.length % 2 === 0 ? value : `0x0${value.slice(2)}`) as Hex;
        }),
      ),
    );
    const results: Record<string, unknown> = {
      eth_getBlockByHash: {
        ...header,
        hash,
        transactions: [{ ...transaction, hash: keccak256(tx as Hex) }],
      },
      eth_getBlockReceipts: [
        { ...receipt, ...members, type: '0x7e', transactionHash: keccak256(tx as Hex) },
      ],
    };
    const ask: Ask = async (calls) =>
      calls.map(({ method }) => ({ ok: true, result: results[method] }));

    expect(await readProvenBlock(ask, hash)).toMatchObject({ hash, number: 5n });
  });
});
