// Robots: table and registration.
import { useQuery } from '@tanstack/react-query';
import { lazy } from 'react';
import { fleetsQuery, robotsQuery } from '../queries.ts';
import { DialogButton } from '../ui/dialog-button.tsx';
import { FirstCall } from '../ui/first-call.tsx';
import { Page } from '../ui/page.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { Freshness, useStale } from '../ui/time.tsx';
import { RobotTable } from './robots/robot-table.tsx';

const RobotForm = lazy(() => import('./robots/robot-form.tsx'));

export default function Robots() {
  const robots = useQuery(robotsQuery);
  const fleets = useQuery(fleetsQuery);
  const isStale = useStale(robots);
  return (
    <Page
      title="Robots"
      lead={<Freshness query={robots} />}
      actions={<DialogButton label="Add robot" dialog={RobotForm} />}
    >
      <Loaded query={robots} what="robots">
        {(items) =>
          items.length === 0 ? (
            <Empty title="No robots yet">
              Add a robot to get its API key, which is shown once.
              <FirstCall call="POST /api/v1/robots" body={{ name: 'arm-1' }} by="SVC_TOKEN" />
            </Empty>
          ) : (
            <div className="stack" data-stale={isStale || undefined}>
              <RobotTable robots={items} isWhole={!robots.isFetching} fleets={fleets.data ?? []} />
            </div>
          )
        }
      </Loaded>
    </Page>
  );
}
