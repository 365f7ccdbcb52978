import type { ChainDetails } from '../../protocol/resources.ts';
import type { Deps, Network } from './deps.ts';
import { fault } from './fault.ts';

/** Id of the anchoring chain, as stored or configured. Throws `chain_unavailable` while neither is known. */
export async function anchoringChainId({ store, settings }: Deps): Promise<number> {
  const identity = await store.getChainIdentity();
  const chainId = identity?.chainId ?? settings.chainId;
  if (chainId === null) {
    throw fault('chain_unavailable', 'The anchoring chain has not been reached yet.');
  }
  return chainId;
}

/** Network details: specification, section 2. Throws `chain_unavailable` while the chain is not known. */
export async function getChainDetails(deps: Deps): Promise<ChainDetails> {
  const chainId = await anchoringChainId(deps);
  const network = await deps.network(chainId);
  return {
    chain_id: chainId,
    name: network.name,
    testnet: network.testnet,
    explorer_url: network.explorerUrl,
    params: {
      chainId: `0x${chainId.toString(16)}`,
      chainName: network.name,
      nativeCurrency: network.nativeCurrency,
      rpcUrls: network.rpcUrls,
      blockExplorerUrls: [network.explorerUrl],
    },
    anchor_addresses: await deps.store.listAnchorAddresses(),
  };
}

/** Page of a transaction in the network's block explorer (EIP-3091). */
export function explorerUrlOf(network: Network, txHash: string): string {
  return `${network.explorerUrl}/tx/${txHash}`;
}
