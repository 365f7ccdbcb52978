// The start page: figures and activity of the account or a fleet.
import { Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { accountQuery, fleetsQuery, reading } from '../queries.ts';
import { AddressChoice, optionsOf, useSearchParam } from '../ui/fields.tsx';
import { Page } from '../ui/page.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { Freshness, useStale } from '../ui/time.tsx';
import { Activity } from './overview/activity.tsx';
import { Attention } from './overview/attention.tsx';
import { Figures } from './overview/figures.tsx';

export default function Overview() {
  const [fleetId] = useSearchParam('fleet');
  const fleets = useQuery(fleetsQuery);
  const account = useQuery(accountQuery);
  const query = fleetId === '' ? {} : { fleet_id: fleetId };
  const stats = useQuery({
    ...reading(['stats', fleetId], 'GET /api/v1/stats', { query }),
    placeholderData: keepPreviousData,
  });
  const stale = useStale(stats);
  return (
    <Page
      title="Overview"
      lead={<Freshness query={stats} />}
      actions={
        <AddressChoice
          name="fleet"
          aria-label="Robots of"
          options={optionsOf('All robots', fleets.data)}
        />
      }
    >
      <Loaded query={stats} what="statistics">
        {(data) => (
          <div className="stack" data-stale={stale || undefined}>
            {data.robots.total === 0 && fleetId === '' && (
              <Empty title="No robots yet">
                <Link href="/robots">Register a robot</Link>. With its API key it claims tasks and
                submits proofs.
              </Empty>
            )}
            <Attention fleetId={fleetId} />
            <Figures stats={data} fleetId={fleetId} credits={account.data?.credits} />
            <Activity stats={data} fleetId={fleetId} />
          </div>
        )}
      </Loaded>
      {stale && (
        <Text c="dimmed" role="status">
          The numbers above may be out of date.
        </Text>
      )}
    </Page>
  );
}
