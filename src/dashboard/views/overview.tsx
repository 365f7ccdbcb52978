// The start page: figures and activity of the account or a fleet.
import { Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { accountQuery, fleetsQuery, reading } from '../queries.ts';
import { AddressChoice, optionsOf, useSearchParam } from '../ui/fields.tsx';
import { Page } from '../ui/page.tsx';
import { Loaded } from '../ui/states.tsx';
import { Freshness, useStale } from '../ui/time.tsx';
import { Activity } from './overview/activity.tsx';
import { Checklist, useFirstSteps } from './overview/checklist.tsx';
import { Figures, type FiguresProps } from './overview/figures.tsx';
import { IncidentList } from './overview/incident-list.tsx';
import { Report } from './overview/report.tsx';
import './overview/overview.css';

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
            <Content stats={data} fleetId={fleetId} credits={account.data?.credits} />
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

function Content({ stats, fleetId, credits }: FiguresProps) {
  const steps = useFirstSteps(stats);
  const checklist = fleetId === '' && <Checklist {...steps} />;
  return (
    <>
      {/* Once robots report, what they report comes first. */}
      {!steps.hasSample && checklist}
      {steps.hasRobot && <IncidentList fleetId={fleetId} />}
      {steps.hasSample && checklist}
      <Figures stats={stats} fleetId={fleetId} credits={credits} />
      {(steps.hasSample || hasActivity(stats)) && (
        <>
          <Report fleetId={fleetId} />
          <Activity stats={stats} fleetId={fleetId} />
        </>
      )}
    </>
  );
}

function hasActivity({ events_by_hour, anchors_by_day }: FiguresProps['stats']): boolean {
  return (
    events_by_hour.some(({ info, warn, error }) => info + warn + error > 0) ||
    anchors_by_day.some(({ anchors }) => anchors > 0)
  );
}
