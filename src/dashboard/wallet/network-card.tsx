import { Alert, Button, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { chainQuery } from '../queries.ts';
import { Badge } from '../ui/badge.tsx';
import { Loaded } from '../ui/states.tsx';
import { switchNetwork } from './switch-network.ts';
import { useUsedWallet, useWalletChain } from './wallets.ts';

/** The anchoring network, and the way to put the wallet on it. Everything works without. */
export function NetworkCard() {
  const chain = useQuery(chainQuery);
  const wallet = useUsedWallet();
  const current = useWalletChain(wallet);
  const change = useMutation({
    mutationFn: async () => {
      if (wallet && chain.data) await switchNetwork(wallet, chain.data);
    },
  });
  return (
    <section className="card">
      <h2 className="card-title">Anchoring network</h2>
      <Loaded query={chain} what="network">
        {({ name, testnet, chain_id, params }) => (
          <>
            <Text fw={600}>
              {name} {testnet && <Badge tone="plain">test network</Badge>}
            </Text>
            <Text size="sm" c="dimmed">
              Chain {chain_id}
            </Text>
            {change.isError && (
              <Alert color="red" mt="sm" role="alert">
                {change.error.message}
              </Alert>
            )}
            {current === params.chainId ? (
              <Text size="sm" mt="sm" role="status">
                Your wallet is on this network.
              </Text>
            ) : (
              <>
                <Text size="sm" mt="sm">
                  Your wallet is on another network, which is fine: everything here works. Switch to
                  look at anchors from it.
                </Text>
                <Button
                  size="xs"
                  variant="default"
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
    </section>
  );
}
