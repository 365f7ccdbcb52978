// The anchoring network, and how to switch the wallet to it.
import { Alert, Button, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { ChainDetails } from '../../protocol/resources.ts';
import { chainQuery } from '../queries.ts';
import { Badge } from '../ui/badge.tsx';
import { Card } from '../ui/card.tsx';
import { Loaded, Problem } from '../ui/states.tsx';
import {
  errorCodeOf,
  useUsedWallet,
  useWalletAnswer,
  type Wallet,
  WalletError,
  walletErrorOf,
} from './wallets.ts';

/** Switching is optional: everything works on another network too. */
export function NetworkCard() {
  const chain = useQuery(chainQuery);
  const wallet = useUsedWallet();
  const current = useWalletAnswer<string>(wallet, 'eth_chainId', 'chainChanged');
  const change = useMutation({
    mutationFn: async () => {
      if (wallet && chain.data) await switchNetwork(wallet, chain.data);
    },
  });
  return (
    <Card title="Anchoring network">
      <Loaded query={chain} what="network">
        {({ name, testnet, chain_id, params }) => (
          <>
            <Text size="md" fw={600}>
              {name} {testnet && <Badge tone="plain">test network</Badge>}
            </Text>
            <Text c="dimmed">Chain {chain_id}</Text>
            {params.rpcUrls.length === 0 && (
              <Alert color="yellow" mt="sm" role="status">
                Wallets that do not know this network cannot add it: the operator has to set
                SVC_PUBLIC_RPC_URL.
              </Alert>
            )}
            <Problem of={change} mt="sm" />
            {current === params.chainId ? (
              <Text mt="sm" role="status">
                Your wallet is on this network.
              </Text>
            ) : (
              <>
                <Text mt="sm">
                  Your wallet is on another network. Everything here still works; switch only to
                  look at anchors in the wallet.
                </Text>
                <Button
                  size="xs"
                  mt="sm"
                  disabled={wallet === undefined}
                  loading={change.isPending}
                  onClick={() => change.mutate()}
                >
                  Switch wallet to {name}
                </Button>
              </>
            )}
          </>
        )}
      </Loaded>
    </Card>
  );
}

/** Error code of a wallet that does not know the chain (EIP-3085). Some wallets wrap it. */
const UNKNOWN_CHAIN = 4902;

/** Switches the wallet to the anchoring network, which it adds if the wallet does not know it. */
async function switchNetwork({ provider }: Wallet, { params }: ChainDetails): Promise<void> {
  const chainId = params.chainId as `0x${string}`;
  const goThere = () =>
    provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] });
  const addAndGo = async () => {
    if (params.rpcUrls.length === 0) {
      const message = `The wallet does not know ${params.chainName}, and the service has no public RPC URL for it. Add the network in the wallet.`;
      throw new WalletError(message);
    }
    const added = { ...params, chainId };
    await provider.request({ method: 'wallet_addEthereumChain', params: [added] });
    await goThere();
  };
  await goThere()
    .catch((error) => (isUnknownChain(error) ? addAndGo() : Promise.reject(error)))
    .catch((error) => {
      throw walletErrorOf(error, 'The change of network was rejected in the wallet.');
    });
}

function isUnknownChain(error: unknown): boolean {
  const inner = (error as { data?: { originalError?: unknown } } | null)?.data?.originalError;
  return errorCodeOf(error) === UNKNOWN_CHAIN || errorCodeOf(inner) === UNKNOWN_CHAIN;
}
