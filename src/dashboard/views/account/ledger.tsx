// The changes of the credits.
import { Text } from '@mantine/core';
import { ask } from '../../api.ts';
import { PagedList } from '../../lists/paged-list.tsx';
import { Card } from '../../ui/card.tsx';
import { ether } from '../../ui/ether.ts';
import { Empty } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';

const kinds = {
  grant: 'Granted',
  revoke: 'Revoked',
  reserve: 'Reserved for an anchor',
  settle: 'Settled at the cost of the anchor',
  release: 'Released: nothing was anchored',
} as const;

export function Ledger() {
  return (
    <Card title="Credit history">
      <PagedList
        what="changes"
        queryKey={['ledger']}
        read={(query, signal) => ask('GET /api/v1/credits/ledger', { query, signal })}
        empty={<Empty title="No changes yet" />}
        columns={[
          {
            title: 'When',
            isWide: true,
            width: '9rem',
            cell: ({ created_at }) => <Ago at={created_at} />,
          },
          {
            title: 'Change',
            cell: ({ kind, note, created_at }) => (
              <>
                {kinds[kind]}
                {note && <Text>{note}</Text>}
                <span className="narrow-only">
                  <Ago at={created_at} />
                </span>
              </>
            ),
          },
          {
            title: 'Anchors',
            width: '6rem',
            cell: ({ anchors }) => anchors.toLocaleString('en'),
          },
          { title: 'Gas', width: '8rem', cell: ({ gas_wei }) => ether(gas_wei) },
        ]}
      />
    </Card>
  );
}
