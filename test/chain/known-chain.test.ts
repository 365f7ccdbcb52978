import { describe, expect, it } from 'vitest';
import { knownChain } from '../../src/chain/known-chain.ts';

describe('knownChain', () => {
  it('knows the local development chain', async () => {
    expect(await knownChain(31337)).toMatchObject({ name: 'Anvil', testnet: true });
  });

  it('knows public chains and their explorers', async () => {
    expect(await knownChain(1)).toMatchObject({
      chainId: 1,
      name: 'Ethereum',
      testnet: false,
      explorerUrl: 'https://etherscan.io',
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    });
    expect(await knownChain(84532)).toMatchObject({ name: 'Base Sepolia', testnet: true });
  });

  it('returns null for an unknown chain', async () => {
    expect(await knownChain(987_654_321_987)).toBeNull();
  });
});
