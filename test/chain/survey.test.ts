import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { OpenChain } from '../../src/chain/chain.ts';
import { ProviderError } from '../../src/chain/errors.ts';
import type { Identity } from '../../src/chain/identity.ts';
import type { Hex } from '../../src/proof/bytes.ts';
import { anvilAccounts } from '../support/anvil.ts';
import { type ProxiedChain, startProxiedChain } from '../support/proxied-chain.ts';
import type { RpcProxy } from '../support/rpc-proxy.ts';

const sender = anvilAccounts[0].address;
/** 50 bytes that count and 10 that do not. */
const payload: Hex = `0x${'ff'.repeat(50)}${'00'.repeat(10)}`;
const STANDARD = 21_000n + 50n * 16n + 10n * 4n;
const FLOOR = 21_000n + 50n * 40n + 10n * 10n;

let proxied: ProxiedChain;
let proxy: RpcProxy;
let chain: OpenChain;
let identity: Identity;

beforeAll(async () => {
  proxied = await startProxiedChain();
  ({ proxy, chain } = proxied);
  identity = await chain.anchoring.identity();
});

afterEach(() => proxy.mend());

afterAll(() => proxied.close());

const senderState = () => chain.anchoring.senderState({ identity, sender, payload });
const answer = (method: string, given: Parameters<RpcProxy['intercept']>[0]) =>
  proxy.intercept((call) => (call.method === method ? given(call) : null));
const estimate = (gas: bigint) =>
  answer('eth_estimateGas', () => ({ result: `0x${gas.toString(16)}` }));
const refuse = (method: string, code: number, message: string) =>
  answer(method, () => ({ error: { code, message } }));

describe('a survey', () => {
  it.each([
    ['of another id', 'eth_chainId', { result: '0x1' }],
    ['of another genesis', 'eth_getBlockByNumber', { result: genesis('ee') }],
  ])('of a chain %s tells nothing', async (_what, method, other) => {
    proxy.intercept((call) =>
      call.method === method && call.params[0] !== 'latest' ? other : null,
    );

    await expect(senderState()).rejects.toMatchObject({ code: 'chain_mismatch' });
  });
});

describe('the gas estimate', () => {
  it('is the node’s where a chain can mean it', async () => {
    expect((await senderState()).gas).toMatchObject({ outcome: 'estimated', gas: FLOOR });
    estimate(90_000n);
    expect((await senderState()).gas).toMatchObject({ outcome: 'estimated', gas: 90_000n });
  });

  it('is raised to the floor that another chain may not have', async () => {
    estimate(STANDARD);

    expect((await senderState()).gas).toMatchObject({ outcome: 'estimated', gas: FLOOR });
  });

  it.each([
    ['less than the bytes cost on any chain', STANDARD - 1n],
    ['an empty transaction’s', 21_000n],
    ['more than a block holds', 30_000_001n],
  ])('is not believed when it is %s', async (_what, gas) => {
    estimate(gas);

    await expect(senderState()).rejects.toThrow(ProviderError);
  });
});

describe('the tip', () => {
  it('falls back where the node has no such method', async () => {
    refuse('eth_maxPriorityFeePerGas', -32601, 'the method does not exist/is not available');

    expect((await senderState()).maxPriorityFeePerGas).toBe(1_000_000_000n);
  });

  it.each([
    [-32005, 'rate limit exceeded'],
    [-32603, 'Internal error'],
    [-32000, 'service unavailable'],
  ])('does not fall back on a provider’s trouble (%i %s)', async (code, message) => {
    refuse('eth_maxPriorityFeePerGas', code, message);

    await expect(senderState()).rejects.toThrow(ProviderError);
  });
});

describe('the data fee', () => {
  it('is nothing where no oracle lives, or where something else reverts', async () => {
    expect((await senderState()).dataFeeWei).toBe(0n);
    refuse('eth_call', 3, 'execution reverted');
    expect((await senderState()).dataFeeWei).toBe(0n);
  });

  it('is not taken for nothing on a provider’s trouble', async () => {
    refuse('eth_call', -32005, 'rate limit exceeded');

    await expect(senderState()).rejects.toThrow(ProviderError);
  });
});

function genesis(byte: string): object {
  return { number: '0x0', hash: `0x${byte.repeat(32)}`, timestamp: '0x0' };
}
