import { Button, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ask } from './api.ts';
import { accountQuery } from './queries.ts';
import { shorten } from './ui/copy.tsx';

/** Who is signed in, and the way out. */
export function AccountBar() {
  const { data: account } = useQuery(accountQuery);
  const queries = useQueryClient();
  const signOut = useMutation({
    mutationFn: () => ask('POST /api/auth/logout'),
    onSuccess() {
      queries.clear();
      // Everything that this account saw leaves the memory of the page with it.
      location.assign('/sign-in');
    },
  });
  if (!account) return null;
  return (
    <>
      <Text size="sm" ff="monospace" visibleFrom="xs" title={account.wallet}>
        {shorten(account.wallet)}
      </Text>
      <Button
        size="xs"
        variant="default"
        loading={signOut.isPending}
        onClick={() => signOut.mutate()}
      >
        Sign out
      </Button>
    </>
  );
}
