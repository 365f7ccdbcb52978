// What an account stores: exports and deletes it.
import { Button, Group, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../../api.ts';
import { Card } from '../../ui/card.tsx';
import { ConfirmDeletion } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/states.tsx';
import { saveFile } from '../../ui/values.tsx';
import { signDeletion } from '../../wallet/sign-in.ts';
import { useUsedWallet, WalletError } from '../../wallet/wallets.ts';

export function StoredData({ wallet }: { wallet: string }) {
  const [isDeleting, setIsDeleting] = useState(false);
  const used = useUsedWallet();
  const save = useMutation({ mutationFn: () => exportLines(wallet) });
  const remove = async () => {
    if (used === undefined) throw new WalletError('No wallet of this browser signed in here.');
    await ask('DELETE /api/v1/me', { body: await signDeletion(used, wallet) });
    location.assign('/');
  };
  return (
    <Card title="Your data">
      <Text mb="md">
        The export has one JSON object per line, and a bundle of each anchored task.
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
          onDelete={remove}
        >
          <Text>
            This deletes all robots, tasks, evidence, telemetry and events. Your wallet signs the
            deletion. Credits, their ledger and what the chain holds stay; saved bundles stay valid.
          </Text>
        </ConfirmDeletion>
      )}
    </Card>
  );
}

async function exportLines(wallet: string): Promise<void> {
  const [{ createClient }, { exportAccount }] = await Promise.all([
    import('../../../client/client.ts'),
    import('../../../client/export-account.ts'),
  ]);
  const { call } = createClient({ baseUrl: location.origin, fetch: fetch.bind(window) });
  const lines: string[] = [];
  for await (const line of exportAccount(call)) lines.push(`${JSON.stringify(line)}\n`);
  saveFile(`account-${wallet}.jsonl`, new Blob(lines, { type: 'application/jsonl' }));
}
