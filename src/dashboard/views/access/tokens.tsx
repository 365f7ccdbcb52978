// The account's tokens: list, creation and revocation.
import { Button, Group, Table, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { limits } from '../../../protocol/limits.ts';
import type { TokenScope } from '../../../protocol/tokens.ts';
import { ask, type Reply } from '../../api.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Choice, NameField } from '../../ui/fields.tsx';
import { ScrollTable } from '../../ui/scroll-table.tsx';
import { SecretDialog } from '../../ui/secret-dialog.tsx';
import { Empty, Loaded, Problem } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';
import { Command } from '../../ui/values.tsx';

const DAYS: typeof limits.tokenDays = 90;
const DAYS_MAX: typeof limits.tokenDaysMax = 365;
const lifetimes = [DAYS, 7, 30, DAYS_MAX].map((days) => ({
  value: String(days),
  label: `${days} days`,
}));

export function Tokens() {
  const queries = useQueryClient();
  const [isCreating, setIsCreating] = useState(false);
  const tokens = useQuery({
    queryKey: ['tokens'],
    queryFn: ({ signal }) => ask('GET /api/v1/tokens', { query: { limit: '50' }, signal }),
  });
  const revoke = useMutation({
    mutationFn: (id: string) => ask('DELETE /api/v1/tokens/:id', { params: { id } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['tokens'] }),
  });
  return (
    <section className="card" aria-labelledby="tokens">
      <Group justify="space-between">
        <h2 className="card-title" id="tokens">
          Account tokens
        </h2>
        <Button size="xs" onClick={() => setIsCreating(true)}>
          Create token
        </Button>
      </Group>
      <Problem of={revoke} mb="sm" />
      <Loaded query={tokens} what="tokens">
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No tokens">A token lets a script act for your account.</Empty>
          ) : (
            <ScrollTable label="Account tokens">
              <Table.Thead>
                <Table.Tr>
                  {['Token', 'Ends', 'Action'].map((title) => (
                    <Table.Th key={title}>{title}</Table.Th>
                  ))}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {items.map((token) => (
                  <Table.Tr key={token.id}>
                    <Table.Th scope="row" className="wrap">
                      {token.name}
                      <Text size="sm" c="dimmed">
                        {token.scope}, {token.last_used_at ? 'used ' : 'never used'}
                        {token.last_used_at && <Ago at={token.last_used_at} />}
                      </Text>
                    </Table.Th>
                    <Table.Td>{token.expires_at.slice(0, 10)}</Table.Td>
                    <Table.Td>
                      <Button
                        size="compact-xs"
                        variant="default"
                        aria-label={`Revoke ${token.name}`}
                        loading={revoke.isPending && revoke.variables === token.id}
                        onClick={() => revoke.mutate(token.id)}
                      >
                        Revoke
                      </Button>
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </ScrollTable>
          )
        }
      </Loaded>
      {isCreating && <CreateToken onClose={() => setIsCreating(false)} />}
    </section>
  );
}

/** Creates a token, then shows its secret once. */
function CreateToken({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [scope, setScope] = useState<TokenScope>('read');
  const [days, setDays] = useState(String(DAYS));
  const [made, setMade] = useState<Reply<'POST /api/v1/tokens'>>();
  if (made) {
    return (
      <SecretDialog
        title={`Token ${made.token.name}`}
        what="token"
        secret={made.secret}
        remedy="If you lose the token, create another one."
        loss="Revoke it, and create another one."
        onClose={onClose}
      >
        <Text size="sm">svc uses the token from the environment:</Text>
        <Command value="SVC_TOKEN=$(cat token-file) svc whoami" what="command" />
      </SecretDialog>
    );
  }
  const create = async () => {
    const body = { name, scope, expires_in_days: Number(days) };
    const reply = await ask('POST /api/v1/tokens', { body });
    queries.invalidateQueries({ queryKey: ['tokens'] });
    return reply;
  };
  return (
    <FormDialog
      title="Create token"
      submit="Create token"
      canSubmit={name.trim() !== ''}
      staysWhilePending
      onSubmit={create}
      onDone={setMade}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} />
      <Choice
        label="Scope"
        hasVisibleLabel
        options={[
          { value: 'read', label: 'read: see everything of the account' },
          { value: 'write', label: 'write: also change robots, fleets and tasks' },
        ]}
        value={scope}
        onChange={(value) => setScope(value === 'write' ? 'write' : 'read')}
      />
      <Choice
        label="Lifetime"
        hasVisibleLabel
        options={lifetimes}
        value={days}
        onChange={setDays}
      />
    </FormDialog>
  );
}
