import type { ChainDetails } from '../../protocol/resources.ts';
import { errorCodeOf, WalletError } from './wallet-error.ts';
import type { Wallet } from './wallets.ts';

/** EIP-3085: the wallet does not know the chain; some wallets wrap the code. */
const UNKNOWN_CHAIN = 4902;

/** Puts the wallet on the anchoring network, adding it where the wallet does not know it. */
export async function switchNetwork({ provider }: Wallet, { params }: ChainDetails): Promise<void> {
  const chainId = params.chainId as `0x${string}`;
  const goThere = () =>
    provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] });
  try {
    await goThere();
  } catch (error) {
    if (!isUnknownChain(error)) throw told(error);
    if (params.rpcUrls.length === 0) {
      throw new WalletError(
        `The wallet does not know ${params.chainName}, and the service offers no public RPC address to add it with. Add the network in the wallet.`,
      );
    }
    try {
      await provider.request({
        method: 'wallet_addEthereumChain',
        params: [{ ...params, chainId }],
      });
      await goThere();
    } catch (refusal) {
      throw told(refusal);
    }
  }
}

function isUnknownChain(error: unknown): boolean {
  const inner = (error as { data?: { originalError?: unknown } } | null)?.data?.originalError;
  return errorCodeOf(error) === UNKNOWN_CHAIN || errorCodeOf(inner) === UNKNOWN_CHAIN;
}

function told(error: unknown): WalletError {
  if (errorCodeOf(error) === 4001) {
    return new WalletError('The change of network was rejected in the wallet.');
  }
  return new WalletError(
    `The wallet failed: ${error instanceof Error ? error.message : 'unknown'}`,
  );
}
