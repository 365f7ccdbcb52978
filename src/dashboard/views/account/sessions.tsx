// The sessions of the wallet, and how to end them.
import { Button, Table } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ask } from '../../api.ts';
import { Badge } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { ScrollTable } from '../../ui/scroll-table.tsx';
import { Loaded, Problem } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';

export function Sessions() {
  const queries = useQueryClient();
  const sessions = useQuery({
    queryKey: ['sessions'],
    queryFn: ({ signal }) => ask('GET /api/v1/sessions', { query: { limit: '200' }, signal }),
  });
  const revoke = useMutation({
    mutationFn: (id: string) => ask('DELETE /api/v1/sessions/:id', { params: { id } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['sessions'] }),
  });
  return (
    <Card title="Sessions">
      <Problem of={revoke} mb="sm" />
      <Loaded query={sessions} what="sessions">
        {({ items }) => (
          <ScrollTable label="Sessions">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Opened by</Table.Th>
                <Table.Th>Since</Table.Th>
                <Table.Th className="wide-only">Ends</Table.Th>
                <Table.Th>
                  <span className="hidden">Action</span>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {items.map((session) => (
                <Table.Tr key={session.id}>
                  <Table.Td className="wrap">
                    {session.signed_in_with === 'wallet' ? 'Wallet signature' : 'Command line'}{' '}
                    {session.current && <Badge tone="good">this session</Badge>}
                  </Table.Td>
                  <Table.Td>
                    <Ago at={session.created_at} />
                  </Table.Td>
                  <Table.Td className="wide-only">
                    <time dateTime={session.expires_at}>{session.expires_at.slice(0, 10)}</time>
                  </Table.Td>
                  <Table.Td ta="right">
                    {!session.current && (
                      <Button
                        size="compact-xs"
                        variant="default"
                        loading={revoke.isPending && revoke.variables === session.id}
                        onClick={() => revoke.mutate(session.id)}
                      >
                        Revoke
                      </Button>
                    )}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </ScrollTable>
        )}
      </Loaded>
    </Card>
  );
}
