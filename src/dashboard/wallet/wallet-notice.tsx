// A notice when the wallet switches to another account.
import { Alert, Button, Group, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { accountQuery } from '../queries.ts';
import { shorten } from '../ui/values.tsx';
import { useUsedWallet, useWalletAnswer, type Wallet } from './wallets.ts';

/** Shown if the wallet's account is not the one that is signed in. */
export function WalletNotice() {
  const { data: account } = useQuery(accountQuery);
  const wallet = useUsedWallet();
  const accounts = useWalletAnswer<readonly string[]>(wallet, 'eth_accounts', 'accountsChanged');
  const now = accounts?.[0];
  const queries = useQueryClient();
  const [dismissed, setDismissed] = useState<string>();
  const canceling = useRef(new AbortController());
  const change = useMutation({
    async mutationFn(chosen: Wallet) {
      canceling.current = new AbortController();
      const { signIn } = await import('./sign-in.ts');
      return signIn(chosen, () => {}, canceling.current.signal);
    },
    // No data of the previous account may be shown to the new one.
    onSuccess: () => queries.resetQueries(),
  });
  if (!account || !wallet || !now || now === dismissed) return null;
  if (now.toLowerCase() === account.wallet.toLowerCase()) return null;
  return (
    <Alert
      color="yellow"
      mb="md"
      role="status"
      title="Your wallet has switched to another account"
      withCloseButton
      closeButtonLabel="Dismiss"
      onClose={() => setDismissed(now)}
    >
      <Group justify="space-between">
        <Text>
          {change.error?.message ??
            `The wallet is on ${shorten(now)}; you are still signed in as ${shorten(account.wallet)}.`}
        </Text>
        {change.isPending && (
          <Button size="xs" onClick={() => canceling.current.abort()}>
            Cancel
          </Button>
        )}
        <Button size="xs" loading={change.isPending} onClick={() => change.mutate(wallet)}>
          Sign in as {shorten(now)}
        </Button>
      </Group>
    </Alert>
  );
}
