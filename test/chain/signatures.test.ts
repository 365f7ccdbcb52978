import { parseSignature } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OpenChain } from '../../src/chain/chain.ts';
import { startRecovery } from '../../src/chain/signatures.ts';
import type { Hex } from '../../src/proof/bytes.ts';
import { anvilAccounts, type TestChain } from '../support/anvil.ts';
import { deploy, deployFactory, undeployedWallet, walletCode } from '../support/contract-wallet.ts';
import { type ProxiedChain, startProxiedChain } from '../support/proxied-chain.ts';
import type { RpcProxy } from '../support/rpc-proxy.ts';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const owner = privateKeyToAccount(generatePrivateKey());
const message = 'service.example wants you to sign in';
const deployer = anvilAccounts[0].address;

/** The other signature of the same message that plain ECDSA accepts. */
function malleated(signature: Hex): Hex {
  const { r, s, yParity } = parseSignature(signature);
  const high = (ORDER - BigInt(s)).toString(16).padStart(64, '0');
  return `0x${r.slice(2)}${high}${yParity === 0 ? '1c' : '1b'}`;
}

describe('recoverWallet', () => {
  const { recoverWallet, close } = startRecovery();
  afterAll(close);

  it('returns the checksummed wallet that signed the message', async () => {
    const signature = await owner.signMessage({ message });

    expect(await recoverWallet(message, signature)).toBe(owner.address);
  });

  it('accepts v as 0 or 1, and hex in any case', async () => {
    const signature = await owner.signMessage({ message });
    const v = Number.parseInt(signature.slice(-2), 16) - 27;
    const plain: Hex = `0x${signature.slice(2, -2).toUpperCase()}0${v}`;

    expect(await recoverWallet(message, plain)).toBe(owner.address);
  });

  it('returns another wallet for another message', async () => {
    const signature = await owner.signMessage({ message });

    expect(await recoverWallet(`${message}.`, signature)).not.toBe(owner.address);
  });

  it('refuses the malleable form (high s)', async () => {
    const signature = await owner.signMessage({ message });

    expect(await recoverWallet(message, malleated(signature))).toBeNull();
  });

  it.each([
    ['nothing', '0x'],
    ['text', 'signature'],
    ['63 bytes', `0x${'11'.repeat(63)}`],
    ['66 bytes', `0x${'11'.repeat(66)}`],
    ['v 29', `0x${'11'.repeat(64)}1d`],
    ['zeroes', `0x${'00'.repeat(64)}1b`],
    ['r beyond the order', `0x${'ff'.repeat(32)}${'11'.repeat(32)}1b`],
    ['r on no point', `0x${'00'.repeat(31)}05${'11'.repeat(32)}1b`],
  ])('returns null for %s', async (_what, signature) => {
    expect(await recoverWallet(message, signature as Hex)).toBeNull();
  });
});

describe('isContractSignature', () => {
  let proxied: ProxiedChain;
  let node: TestChain;
  let proxy: RpcProxy;
  let chain: OpenChain;
  let wallet: Hex;
  let factory: Hex;

  beforeAll(async () => {
    proxied = await startProxiedChain();
    ({ node, proxy, chain } = proxied);
    wallet = await deploy(node, deployer, walletCode(owner.address));
    factory = await deployFactory(node, deployer);
  });

  afterAll(() => proxied.close());

  it('accepts a signature that a deployed wallet accepts (ERC-1271)', async () => {
    const signature = await owner.signMessage({ message });

    expect(await chain.isContractSignature(wallet, message, signature)).toBe(true);
  });

  it.each([
    ['another message', `${message}!`, (signature: Hex) => signature],
    ['the malleable form', message, malleated],
    ['a cut signature', message, (signature: Hex) => signature.slice(0, -2) as Hex],
  ])('refuses %s for a deployed wallet', async (_what, said, altered) => {
    const signature = await owner.signMessage({ message });

    expect(await chain.isContractSignature(wallet, said, altered(signature))).toBe(false);
  });

  it('refuses the signature of another wallet', async () => {
    const signature = await privateKeyToAccount(generatePrivateKey()).signMessage({ message });

    expect(await chain.isContractSignature(wallet, message, signature)).toBe(false);
  });

  it('accepts a signature that a wallet would accept once it is deployed (ERC-6492)', async () => {
    const { address, wrap } = undeployedWallet(factory, owner.address);
    const signature = wrap(await owner.signMessage({ message }));

    expect(await chain.isContractSignature(address, message, signature)).toBe(true);
    expect(await chain.isContractSignature(address, 'another', signature)).toBe(false);
  });

  it('refuses a wrapped signature for the wallet of another owner', async () => {
    const { wrap } = undeployedWallet(factory, owner.address);
    const other = undeployedWallet(factory, '0x00000000000000000000000000000000000000aa');
    const signature = wrap(await owner.signMessage({ message }));

    expect(await chain.isContractSignature(other.address, message, signature)).toBe(false);
  });

  it('asks only for the code of a wallet that is not a contract', async () => {
    proxy.asked.methods.length = 0;

    const accepted = await chain.isContractSignature(owner.address, message, '0x1234');

    expect(accepted).toBe(false);
    expect(proxy.asked.methods).toEqual(['eth_getCode']);
  });

  it('refuses a signature beyond 8 KiB without a call', async () => {
    proxy.asked.methods.length = 0;
    const signature: Hex = `0x${'64926492'.repeat(2049)}`;

    expect(await chain.isContractSignature(wallet, message, signature)).toBe(false);
    expect(proxy.asked.methods).toEqual([]);
  });

  it('rejects with chain_unavailable, not as invalid, if the chain does not answer', async () => {
    const signature = await owner.signMessage({ message });
    proxy.intercept(({ method }) =>
      method === 'eth_call' ? { error: { code: -32005, message: 'limit exceeded' } } : null,
    );
    const limited = chain.isContractSignature(wallet, message, signature);
    await expect(limited).rejects.toMatchObject({ code: 'chain_unavailable' });

    proxy.cut();
    const cut = chain.isContractSignature(wallet, message, signature);

    await expect(cut).rejects.toMatchObject({ code: 'chain_unavailable' });
    proxy.restore();
  });
});
