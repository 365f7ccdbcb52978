// What an account stores: exports and deletes it.
import { Button, Group, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ask, download } from '../../api.ts';
import { Card } from '../../ui/card.tsx';
import { ConfirmDeletion } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/states.tsx';
import { saveFile } from '../../ui/values.tsx';
import { signAgain } from '../../wallet/sign-in.ts';
import { useUsedWallet } from '../../wallet/wallets.ts';

export function StoredData({ wallet }: { wallet: string }) {
  const [isDeleting, setIsDeleting] = useState(false);
  const queries = useQueryClient();
  const used = useUsedWallet();
  const save = useMutation({
    async mutationFn() {
      const body = JSON.stringify(await signAgain(used, wallet, 'export_account'));
      const headers = { 'content-type': 'application/json' };
      const exported = await download('/api/v1/me/export', { method: 'POST', headers, body });
      saveFile(`account-${wallet}.jsonl`, exported);
    },
  });
  const remove = async () => {
    await ask('DELETE /api/v1/me', { body: await signAgain(used, wallet, 'delete_account') });
    queries.clear();
    location.assign('/');
  };
  return (
    <Card title="Your data">
      <Text mb="md">
        The export has one JSON object per line, and a bundle of each anchored task. Your wallet
        signs each export.
      </Text>
      <Group gap="xs">
        <Button loading={save.isPending} onClick={() => save.mutate()}>
          Export
        </Button>
        <Button className="danger" onClick={() => setIsDeleting(true)}>
          Delete account
        </Button>
      </Group>
      <Problem of={save} />
      {isDeleting && (
        <ConfirmDeletion
          word={wallet}
          title="Delete account"
          onClose={() => setIsDeleting(false)}
          onSubmit={remove}
        >
          This deletes all robots, tasks, evidence, telemetry and events. Your wallet signs the
          deletion. Credits, their ledger and what the chain holds stay; saved bundles stay valid.
        </ConfirmDeletion>
      )}
    </Card>
  );
}
