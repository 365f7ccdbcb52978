import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { verifyAnchor } from '../../src/chain/verify-anchor.ts';
import { isProven } from '../../src/proof/audit-check.ts';
import { leafHash } from '../../src/proof/leaf.ts';
import { encodePayload } from '../../src/proof/payload.ts';
import type { Verification } from '../../src/protocol/resources.ts';
import { anvilAccounts, startTestChain, type TestChain } from '../support/anvil.ts';
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts';

const content = {
  proof_hash: `0x${'a1'.repeat(32)}`,
  task_id: '01940000-0000-7000-8000-000000000001',
  robot_id: '01940000-0000-7000-8000-000000000002',
  claim_hash: `0x${'c2'.repeat(32)}`,
} as const;
const sender = anvilAccounts[0].address;

let node: TestChain;
/** Two URLs of one chain. */
let first: RpcProxy;
let second: RpcProxy;
let receipt: Verification;

beforeAll(async () => {
  node = await startTestChain();
  first = await startRpcProxy(node.url);
  second = await startRpcProxy(node.url);
  receipt = await anchor();
});

afterEach(() => {
  first.restore();
  second.restore();
});

afterAll(async () => {
  await first.close();
  await second.close();
  await node.close();
});

/** The receipt of a proof that is anchored alone, in the newest block. */
async function anchor(): Promise<Verification> {
  const { proof_hash } = content;
  const data = encodePayload({ kind: 'single', proof_hash, leaf: leafHash(content) });
  const tx_hash = await node.rpc<string>('eth_sendTransaction', [
    { from: sender, to: sender, data },
  ]);
  await node.mine();
  const block = await node.rpc<{ number: string; timestamp: string }>('eth_getBlockByNumber', [
    'latest',
    false,
  ]);
  return {
    format: 'svc-receipt/1',
    ...content,
    status: 'verified',
    tx_hash,
    block_number: String(Number(block.number)),
    anchored_at: new Date(Number(block.timestamp) * 1000).toISOString(),
    explorer_url: 'http://explorer.example',
    chain_id: 31337,
    inclusion: null,
    finality: 'included',
  };
}

function failed(checks: readonly { name: string; ok: boolean }[]): string[] {
  return checks.filter(({ ok }) => !ok).map(({ name }) => name);
}

describe('verifyAnchor', () => {
  it('proves a true receipt from the chain alone', async () => {
    const newest = await anchor();

    const audit = await verifyAnchor(newest, { rpcUrls: [node.url], anchorAddresses: [sender] });

    expect(failed(audit.checks)).toEqual([]);
    expect(isProven(audit.checks)).toBe(true);
    expect(audit).toMatchObject({
      confirmations: 1n,
      finality: 'included',
      sender: sender.toLowerCase(),
    });
  });

  it.each([
    ['other evidence', { proof_hash: `0x${'a2'.repeat(32)}` }, ['proof_hash', 'leaf']],
    ['another task', { task_id: content.robot_id }, ['leaf']],
    ['another block', { block_number: '9999' }, ['block_number']],
    ['another time', { anchored_at: '2020-01-01T00:00:00.000Z' }, ['anchored_at']],
    ['another chain', { chain_id: 1 }, ['chain']],
  ])('names the check that %s fails', async (_what, forged, failing) => {
    const audit = await verifyAnchor({ ...receipt, ...forged }, { rpcUrls: [node.url] });

    expect(failed(audit.checks)).toEqual(failing);
  });

  it('names the sender when another account is expected', async () => {
    const anchorAddresses = [anvilAccounts[1].address];

    const audit = await verifyAnchor(receipt, { rpcUrls: [node.url], anchorAddresses });

    expect(failed(audit.checks)).toEqual(['sender']);
  });

  it('refuses to answer without a node', async () => {
    await expect(verifyAnchor(receipt, { rpcUrls: [] })).rejects.toThrow(RangeError);
  });
});

describe('verifyAnchor at several URLs', () => {
  const both = () => ({ rpcUrls: [first.url, second.url] });
  const labelOf = (proxy: RpcProxy, number: number) =>
    `rpc-${number} (${proxy.url.replace('http://', '')})`;

  it('proves a receipt that all of them confirm', async () => {
    const audit = await verifyAnchor(receipt, both());

    expect(isProven(audit.checks)).toBe(true);
    expect(audit.checks.at(-1)).toEqual({
      name: 'rpc_agreement',
      ok: true,
      detail: 'All 2 RPC URLs say the same',
    });
    expect(audit.nodes.map(({ label }) => label)).toEqual([labelOf(first, 1), labelOf(second, 2)]);
  });

  it('names the URL that does not know the transaction', async () => {
    second.intercept(({ method }) =>
      /^eth_getTransaction/.test(method) ? { result: null } : null,
    );

    const audit = await verifyAnchor({ ...receipt, block_number: undefined }, both());

    const found = audit.checks.find(({ name }) => name === 'transaction_found');
    expect(found).toMatchObject({
      ok: false,
      detail: `${labelOf(second, 2)}: The node does not know the stated transaction`,
    });
    // A node that has the block, with the transaction in its list, has pruned it.
    await expect(verifyAnchor(receipt, both())).rejects.toThrow(
      expect.objectContaining({
        reason: `${labelOf(second, 2)}: this node no longer keeps the transaction`,
      }),
    );
    expect(failed(audit.nodes[0]?.checks ?? [])).toEqual([]);
    expect(audit).toMatchObject({ sender: null, confirmations: null, finality: null });
    expect(audit.checks.at(-1)).toMatchObject({
      ok: false,
      detail: `Not the same as ${labelOf(first, 1)} says: ${labelOf(second, 2)} (transaction, receipt, block)`,
    });
  });

  it('reports a failure once that all of them find', async () => {
    const audit = await verifyAnchor({ ...receipt, block_number: '9999' }, both());

    expect(audit.checks.filter(({ ok }) => !ok)).toEqual([
      {
        name: 'block_number',
        ok: false,
        detail: 'The transaction is not in the stated block',
      },
    ]);
  });

  it('does not accept two different blocks, although each confirms the receipt', async () => {
    const hash = `0x${'ee'.repeat(32)}`;
    const mined = await node.rpc<object>('eth_getTransactionReceipt', [receipt.tx_hash]);
    const number = `0x${Number(receipt.block_number).toString(16)}`;
    const block = await node.rpc<object>('eth_getBlockByNumber', [number, false]);
    second.intercept(({ method, params }) => {
      if (method === 'eth_getTransactionReceipt') return { result: { ...mined, blockHash: hash } };
      return params[0] === number ? { result: { ...block, hash } } : null;
    });

    const audit = await verifyAnchor(receipt, both());

    expect(audit.nodes.map(({ checks }) => failed(checks))).toEqual([[], []]);
    expect(failed(audit.checks)).toEqual(['rpc_agreement']);
  });

  it('returns the lowest confirmations and finality that any of them reports', async () => {
    const own = await anchor();
    await node.mine();
    await node.mine();
    const number = `0x${Number(own.block_number).toString(16)}`;
    const genesis = await node.rpc<object>('eth_getBlockByNumber', ['0x0', false]);
    second.intercept(({ method, params }) => {
      if (method === 'eth_blockNumber') return { result: number };
      return params[0] === 'safe' || params[0] === 'finalized' ? { result: genesis } : null;
    });

    const audit = await verifyAnchor(own, both());

    expect(audit).toMatchObject({ confirmations: 1n, finality: 'included' });
    expect(audit.nodes[0]).toMatchObject({ confirmations: 3n, finality: 'finalized' });
    expect(isProven(audit.checks)).toBe(true);
  });

  it('names the URL of another chain', async () => {
    const other = await startTestChain({ chainId: 31338 });

    const audit = await verifyAnchor(receipt, { rpcUrls: [first.url, other.url] });

    await other.close();
    expect(audit.checks.find(({ name }) => name === 'chain')?.detail).toMatch(
      /^rpc-2 \(127\.0\.0\.1:\d+\): The node is on chain 31338, stated is 31337$/,
    );
  });

  it('rejects if one of them does not answer, and names it without the secrets in its URL', async () => {
    second.fail(503);
    const secret = second.url.replace('http://', 'http://user:password@');

    const audit = verifyAnchor(receipt, { rpcUrls: [first.url, `${secret}/v2/project-key`] });

    await expect(audit).rejects.toMatchObject({
      code: 'chain_unavailable',
      reason: `${labelOf(second, 2)}: HTTP status 503`,
    });
  });
});
