// The changes of the credits: one row for each grant, and for each anchor with what it cost.
import { Anchor, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { LedgerEntry } from '../../../protocol/account.ts';
import { ask } from '../../api.ts';
import { PagedList } from '../../lists/paged-list.tsx';
import { chainQuery } from '../../queries.ts';
import { Card } from '../../ui/card.tsx';
import { ether } from '../../ui/ether.ts';
import { Empty } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';

/** The other kinds close a reservation, and its row has their sum. */
const shownKinds: readonly LedgerEntry['kind'][] = ['grant', 'revoke', 'reserve'];

export function Ledger() {
  const { data: chain } = useQuery(chainQuery);
  const symbol = chain?.params.nativeCurrency.symbol ?? 'ETH';
  return (
    <Card title="Credit history">
      <PagedList
        what="changes"
        queryKey={['ledger']}
        read={async (query, signal) => {
          const page = await ask('GET /api/v1/credits/ledger', { query, signal });
          return { ...page, items: page.items.filter(({ kind }) => shownKinds.includes(kind)) };
        }}
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
            cell: (entry) => (
              <>
                <Change entry={entry} />
                {entry.note && <Text>{entry.note}</Text>}
                <span className="narrow-only">
                  <Ago at={entry.created_at} />
                </span>
              </>
            ),
          },
          {
            title: 'Anchors',
            isNumber: true,
            width: '6rem',
            cell: ({ anchors }) => anchors.toLocaleString('en'),
          },
          {
            title: `Gas (${symbol})`,
            isNumber: true,
            width: '8rem',
            cell: ({ gas_wei, cost_wei }) => ether(cost_wei === null ? gas_wei : `-${cost_wei}`),
          },
        ]}
      />
    </Card>
  );
}

function Change({ entry: { kind, cost_wei, task_id } }: { entry: LedgerEntry }) {
  if (task_id === null) return kind === 'grant' ? 'Granted' : 'Revoked';
  const name =
    cost_wei === null ? 'Reserved for' : cost_wei === '0' ? 'Not anchored:' : 'Anchor of';
  return (
    <>
      {name}{' '}
      <Anchor component={Link} href={`/tasks/${task_id}`}>
        task {task_id.slice(0, 8)}
      </Anchor>
    </>
  );
}
