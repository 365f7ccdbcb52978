// The latest changes of the credits.
import { Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ask } from '../../api.ts';
import { Card } from '../../ui/card.tsx';
import { ether } from '../../ui/ether.ts';
import { ScrollTable } from '../../ui/scroll-table.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';

const kinds = {
  grant: 'Granted',
  reserve: 'Reserved for an anchor',
  settle: 'Settled at the cost of the anchor',
  release: 'Released: nothing was anchored',
} as const;

export function Ledger() {
  const ledger = useQuery({
    queryKey: ['ledger'],
    queryFn: ({ signal }) => ask('GET /api/v1/credits/ledger', { query: { limit: '50' }, signal }),
  });
  return (
    <Card title="Credit history">
      <Loaded query={ledger} what="changes">
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No changes yet" />
          ) : (
            <ScrollTable label="Credit history" maxHeight={360}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th className="wide-only">When</Table.Th>
                  <Table.Th>Change</Table.Th>
                  <Table.Th ta="right">Anchors</Table.Th>
                  <Table.Th ta="right">Gas</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {items.map((entry) => (
                  <Table.Tr key={entry.id}>
                    <Table.Td className="wide-only">
                      <Ago at={entry.created_at} />
                    </Table.Td>
                    <Table.Td className="wrap">
                      {kinds[entry.kind]}
                      {entry.note && <Text size="sm">{entry.note}</Text>}
                      <span className="narrow-only">
                        <Ago at={entry.created_at} />
                      </span>
                    </Table.Td>
                    <Table.Td ta="right">{entry.anchors.toLocaleString('en')}</Table.Td>
                    <Table.Td ta="right">{ether(entry.gas_wei)}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </ScrollTable>
          )
        }
      </Loaded>
    </Card>
  );
}
