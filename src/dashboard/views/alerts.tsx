// Alerts: open ones, rules, and those of the last year.
import type { Alert } from '../../protocol/alerts.ts';
import { ask } from '../api.ts';
import { PagedList } from '../lists/paged-list.tsx';
import { useRobotLinks } from '../lists/robot-links.tsx';
import { Card } from '../ui/card.tsx';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { Ago, duration } from '../ui/time.tsx';
import { AlertState } from './alerts/alert-state.tsx';
import { kinds } from './alerts/kinds.ts';
import { Rules } from './alerts/rules.tsx';

export default function Alerts() {
  const linkTo = useRobotLinks();
  const list = (what: string, query: { open?: 'true' }, none: string) => (
    <PagedList
      what={what}
      isPart={query.open === undefined}
      queryKey={['alerts', query]}
      read={(page, signal) => ask('GET /api/v1/alerts', { query: { ...query, ...page }, signal })}
      empty={<Empty title={none} />}
      columns={[
        {
          title: 'Alert',
          cell: (alert) => (
            <>
              {kinds[alert.kind].title}
              {alert.robot_id && <div>{linkTo(alert.robot_id)}</div>}
              <div className="narrow-only">
                <Opened {...alert} />
              </div>
            </>
          ),
        },
        {
          title: 'Opened',
          isWide: true,
          width: '8rem',
          cell: (alert) => <Opened {...alert} />,
        },
        { title: 'State', width: '8.5rem', cell: (alert) => <AlertState alert={alert} /> },
      ]}
    />
  );
  return (
    <Page title="Alerts" lead="What needs attention by your rules, checked every 30 seconds.">
      <Card title="Open alerts">{list('open alerts', { open: 'true' }, 'No open alerts')}</Card>
      <Rules />
      <Card title="History">{list('alerts', {}, 'No alerts in the last year')}</Card>
    </Page>
  );
}

function Opened({ opened_at, closed_at }: Alert) {
  return (
    <>
      <Ago at={opened_at} />
      {closed_at && (
        <div className="dash">for {duration(Date.parse(closed_at) - Date.parse(opened_at))}</div>
      )}
    </>
  );
}
