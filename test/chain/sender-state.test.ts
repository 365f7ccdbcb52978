import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { OpenChain } from '../../src/chain/chain.ts';
import { ProviderError } from '../../src/chain/errors.ts';
import type { Identity } from '../../src/chain/identity.ts';
import type { Hex } from '../../src/proof/bytes.ts';
import { anvilAccounts } from '../support/anvil.ts';
import { type ProxiedChain, startProxiedChain } from '../support/proxied-chain.ts';
import type { RpcProxy } from '../support/rpc-proxy.ts';

const sender = anvilAccounts[0].address;
const payload: Hex = `0x${'ff'.repeat(42)}`;

let proxied: ProxiedChain;
let proxy: RpcProxy;
let chain: OpenChain;
let identity: Identity;

beforeAll(async () => {
  proxied = await startProxiedChain();
  ({ proxy, chain } = proxied);
  identity = await chain.anchoring.identity();
});

afterEach(() => proxy.restore());

afterAll(() => proxied.close());

const senderState = () => chain.anchoring.senderState({ identity, sender, payload });
const answer = (method: string, given: Parameters<RpcProxy['intercept']>[0]) =>
  proxy.intercept((call) => (call.method === method ? given(call) : null));
const estimate = (gas: bigint) =>
  answer('eth_estimateGas', () => ({ result: `0x${gas.toString(16)}` }));
const refuse = (method: string, code: number, message: string) =>
  answer(method, () => ({ error: { code, message } }));

describe('the sender state', () => {
  it.each([
    ['of another id', 'eth_chainId', { result: '0x1' }],
    ['of another genesis', 'eth_getBlockByNumber', { result: genesis('ee') }],
  ])('of a chain %s is unknown', async (_what, method, other) => {
    proxy.intercept((call) =>
      call.method === method && call.params[0] !== 'latest' ? other : null,
    );

    await expect(senderState()).rejects.toMatchObject({ code: 'chain_mismatch' });
  });
});

describe('the gas estimate', () => {
  it.each([
    ['today', 22_680n],
    ['after a fork that makes anchors cheaper', 14_688n],
    ['on an L2 that adds the price of its data', 900_000n],
  ])('is that of the node %s', async (_, gas) => {
    estimate(gas);

    expect((await senderState()).gas).toMatchObject({ outcome: 'estimated', gas });
  });

  it('is rejected above the gas limit of a block', async () => {
    estimate(30_000_001n);

    await expect(senderState()).rejects.toThrow(ProviderError);
  });
});

describe('the tip', () => {
  it('falls back if the node has no such method', async () => {
    refuse('eth_maxPriorityFeePerGas', -32601, 'the method does not exist/is not available');

    expect((await senderState()).maxPriorityFeePerGas).toBe(1_000_000_000n);
  });

  it.each([
    [-32005, 'rate limit exceeded'],
    [-32603, 'Internal error'],
    [-32000, 'service unavailable'],
  ])('does not fall back on a provider error (%i %s)', async (code, message) => {
    refuse('eth_maxPriorityFeePerGas', code, message);

    await expect(senderState()).rejects.toThrow(ProviderError);
  });
});

describe('the data fee', () => {
  it('is 0 if there is no oracle, or if another contract reverts', async () => {
    expect((await senderState()).dataFeeWei).toBe(0n);
    refuse('eth_call', 3, 'execution reverted');
    expect((await senderState()).dataFeeWei).toBe(0n);
  });

  it('is not 0 on a provider error', async () => {
    refuse('eth_call', -32005, 'rate limit exceeded');

    await expect(senderState()).rejects.toThrow(ProviderError);
  });
});

function genesis(byte: string): object {
  return { number: '0x0', hash: `0x${byte.repeat(32)}`, timestamp: '0x0' };
}
