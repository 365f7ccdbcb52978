import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OpenChain } from '../../src/chain/chain.ts';
import type { Identity } from '../../src/chain/identity.ts';
import { type AnchorKey, loadAnchorKey } from '../../src/chain/keys/anchor-key.ts';
import type { Hex } from '../../src/proof/bytes.ts';
import { leafHash } from '../../src/proof/leaf.ts';
import { encodePayload } from '../../src/proof/payload.ts';
import { anvilAccounts, type TestChain } from '../support/anvil.ts';
import { type ProxiedChain, startProxiedChain } from '../support/proxied-chain.ts';
import type { RpcProxy } from '../support/rpc-proxy.ts';

const content = {
  proof_hash: `0x${'a1'.repeat(32)}`,
  task_id: '01940000-0000-7000-8000-000000000001',
  robot_id: '01940000-0000-7000-8000-000000000002',
  claim_hash: `0x${'c2'.repeat(32)}`,
} as const;
const payload = encodePayload({
  kind: 'single',
  proof_hash: content.proof_hash,
  leaf: leafHash(content),
});

let proxied: ProxiedChain;
let node: TestChain;
let proxy: RpcProxy;
let chain: OpenChain;
let key: AnchorKey;
let identity: Identity;

beforeAll(async () => {
  proxied = await startProxiedChain();
  ({ node, proxy, chain } = proxied);
  identity = await chain.anchoring.identity();
  key = await loadAnchorKey({ privateKey: anvilAccounts[0].privateKey });
});

afterAll(() => proxied.close());

async function send(data: Hex = payload): Promise<Hex> {
  const senderState = await chain.anchoring.senderState({
    identity,
    sender: key.address,
    payload: data,
  });
  const { rawTx, txHash } = await key.signTransaction({
    chainId: identity.chainId,
    nonce: senderState.latestNonce,
    payload: data,
    gas: 60_000n,
    maxFeePerGas: 10n * senderState.baseFeePerGas + senderState.maxPriorityFeePerGas,
    maxPriorityFeePerGas: senderState.maxPriorityFeePerGas,
  });
  expect(await chain.anchoring.broadcast(rawTx)).toEqual({ outcome: 'accepted' });
  return txHash;
}

describe('readAnchor', () => {
  it('returns nulls for a transaction that the node does not know', async () => {
    const reading = await chain.readAnchor(`0x${'00'.repeat(32)}`);

    expect(reading).toEqual({
      facts: { chain_id: 31337, tx: null, receipt: null, canonical_block: null },
      confirmations: null,
      finality: null,
    });
  });

  it('returns a pending transaction without a receipt', async () => {
    const txHash = await send();

    const reading = await chain.readAnchor(txHash);

    expect(reading.facts.tx).toEqual({
      hash: txHash,
      from: key.address.toLowerCase(),
      to: key.address.toLowerCase(),
      value: '0',
      input: payload,
    });
    expect(reading).toMatchObject({
      facts: { receipt: null },
      confirmations: null,
      finality: null,
    });
    await node.mine();
  });

  it('follows a mined transaction from included to finalized', async () => {
    const txHash = await send();
    await node.mine();
    const standing = async () => {
      const { confirmations, finality } = await chain.readAnchor(txHash);
      return { confirmations, finality };
    };

    expect(await standing()).toEqual({ confirmations: 1n, finality: 'included' });
    await node.mine();
    expect(await standing()).toEqual({ confirmations: 2n, finality: 'safe' });
    await node.mine();
    expect(await standing()).toEqual({ confirmations: 3n, finality: 'finalized' });
  });

  it('reports no transaction as final whose block was replaced', async () => {
    const txHash = await send();
    await node.mine();
    const { facts } = await chain.readAnchor(txHash);
    proxy.intercept(({ method, params }) =>
      method === 'eth_getBlockByNumber' && String(params[0]).startsWith('0x')
        ? {
            result: {
              number: params[0],
              hash: `0x${'ee'.repeat(32)}`,
              timestamp: '0x1',
              transactions: [],
            },
          }
        : null,
    );

    const reading = await chain.readAnchor(txHash);

    expect(reading).toMatchObject({ confirmations: null, finality: null });
    expect(reading.facts.receipt).toEqual(facts.receipt);
    expect(reading.facts.canonical_block?.hash).not.toBe(facts.canonical_block?.hash);
    proxy.restore();
  });

  it('reads a chain without the safe and finalized tags', async () => {
    const txHash = await send();
    await node.mine();
    await node.mine();
    await node.mine();
    proxy.intercept(({ params }) =>
      params[0] === 'safe' || params[0] === 'finalized'
        ? { error: { code: -32602, message: 'invalid block tag' } }
        : null,
    );

    const reading = await chain.readAnchor(txHash);

    expect(reading).toMatchObject({ confirmations: 3n, finality: 'included' });
    proxy.restore();
  });

  it('needs two requests', async () => {
    const txHash = await send();
    await node.mine();
    const before = proxy.asked.requests;

    await chain.readAnchor(txHash);

    expect(proxy.asked.requests - before).toBe(2);
  });

  it.each([
    ['the node is gone', () => proxy.cut()],
    ['it answers something else', () => proxy.intercept(() => ({ result: { nonsense: true } }))],
    [
      'it answers another transaction',
      () =>
        proxy.intercept(({ method }) =>
          method === 'eth_getTransactionByHash'
            ? {
                result: {
                  hash: `0x${'99'.repeat(32)}`,
                  from: key.address,
                  to: null,
                  value: '0x0',
                  input: '0x',
                },
              }
            : null,
        ),
    ],
  ])('rejects with chain_unavailable when %s', async (_what, misbehave) => {
    misbehave();

    const reading = chain.readAnchor(`0x${'12'.repeat(32)}`);

    await expect(reading).rejects.toMatchObject({ code: 'chain_unavailable' });
    proxy.restore();
  });
});

describe('the other reads', () => {
  it('count blocks', async () => {
    const before = await chain.headNumber();
    await node.mine();

    expect(await chain.headNumber()).toBe(before + 1n);
  });

  it('return the balance of a token', async () => {
    // The runtime answers 42 to whatever it is asked.
    const token = '0x00000000000000000000000000000000000000f1';
    await node.rpc('anvil_setCode', [token, '0x602a60005260206000f3']);

    expect(await chain.tokenBalance(token, key.address)).toBe(42n);
  });

  it('do not treat an account as a token', async () => {
    const balance = chain.tokenBalance(anvilAccounts[1].address, key.address);

    await expect(balance).rejects.toMatchObject({ code: 'chain_unavailable' });
  });

  it.each([
    ['0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', anvilAccounts[0].address],
    ['0xF39FD6E51AAD88F6F4CE6AB8827279CFFFB92266', anvilAccounts[0].address],
    // The checksum is that of another address.
    ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92267', null],
    ['0xf39fd6e51aad88f6f4ce6ab8827279cfffb9226', null],
    ['vitalik.eth', null],
  ])('checksum %s', (text, expected) => {
    const address = chain.checksumAddress(text);

    expect(address?.toLowerCase() ?? null).toBe(expected?.toLowerCase() ?? null);
    if (address !== null) expect(address).toMatch(/[A-F]/);
  });
});

describe('broadcast', () => {
  it('distinguishes a transaction in the pool from one in a block', async () => {
    const senderState = await chain.anchoring.senderState({
      identity,
      sender: key.address,
      payload,
    });
    const { rawTx } = await key.signTransaction({
      chainId: identity.chainId,
      nonce: senderState.latestNonce,
      payload,
      gas: 60_000n,
      maxFeePerGas: 10n * senderState.baseFeePerGas,
      maxPriorityFeePerGas: senderState.maxPriorityFeePerGas,
    });

    const outcomes = [
      await chain.anchoring.broadcast(rawTx),
      await chain.anchoring.broadcast(rawTx),
    ];
    await node.mine();
    outcomes.push(await chain.anchoring.broadcast(rawTx));

    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['accepted', 'known', 'nonce_used']);
  });

  it('treats a lost answer as maybe sent', async () => {
    proxy.cut();

    expect(await chain.anchoring.broadcast('0x02')).toMatchObject({ outcome: 'unknown' });
    proxy.restore();
  });
});
