// Names, explorers and currencies of known chains.
import type { ChainDetails } from '../protocol/resources.ts';

interface KnownChain {
  readonly chainId: number;
  readonly name: string;
  readonly testnet: boolean;
  /** No trailing slash; null if there is no explorer. */
  readonly explorerUrl: string | null;
  readonly publicRpcUrl: string | null;
  readonly nativeCurrency: ChainDetails['params']['nativeCurrency'];
}

/** The chain of `svc-server dev`. Returned without loading viem's list, which takes half a second. */
const anvil: KnownChain = {
  chainId: 31337,
  name: 'Anvil',
  testnet: true,
  explorerUrl: null,
  publicRpcUrl: null,
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
};

/** Details of a public chain from viem's list; null if it is not listed. */
export async function knownChain(chainId: number): Promise<KnownChain | null> {
  if (chainId === anvil.chainId) return anvil;
  const all = Object.values(await import('viem/chains'));
  const chain = all.find((entry) => 'id' in entry && entry.id === chainId);
  if (chain === undefined || !('rpcUrls' in chain)) return null;
  return {
    chainId,
    name: chain.name,
    testnet: 'testnet' in chain && chain.testnet === true,
    explorerUrl: explorerOf(chain),
    publicRpcUrl: chain.rpcUrls.default.http[0] ?? null,
    nativeCurrency: chain.nativeCurrency,
  };
}

function explorerOf(chain: object): string | null {
  if (!('blockExplorers' in chain)) return null;
  const explorers = chain.blockExplorers as { default?: { url?: string } } | undefined;
  return explorers?.default?.url?.replace(/\/+$/, '') ?? null;
}
