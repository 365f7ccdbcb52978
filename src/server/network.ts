import { knownChain } from '../chain/known-chain.ts';
import type { ServerConfig } from './config.ts';
import type { Network, Settings } from './core/deps.ts';

/**
 * Details of a network: what is configured, else what is known of the chain. A chain without an explorer gets
 * the service's own address in its place.
 */
export function createNetworkLookup(
  { values, nativeCurrency }: ServerConfig,
  settings: Settings,
): (chainId: number) => Promise<Network> {
  const lookUps = new Map<number, ReturnType<typeof knownChain>>();
  return async (chainId) => {
    const lookUp = lookUps.get(chainId) ?? knownChain(chainId);
    lookUps.set(chainId, lookUp);
    const known = await lookUp;
    const rpcUrl = values.SVC_PUBLIC_RPC_URL ?? known?.publicRpcUrl;
    return {
      name: values.SVC_CHAIN_NAME ?? known?.name ?? `Chain ${chainId}`,
      testnet: values.SVC_CHAIN_TESTNET ?? known?.testnet ?? false,
      explorerUrl: (values.SVC_EXPLORER_URL ?? known?.explorerUrl ?? settings.baseUrl).replace(
        /\/+$/,
        '',
      ),
      nativeCurrency: nativeCurrency ??
        known?.nativeCurrency ?? { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: rpcUrl === undefined || rpcUrl === null ? [] : [rpcUrl],
    };
  };
}
