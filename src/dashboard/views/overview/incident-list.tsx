// The incidents of the overview, each with what happened, since when, and its acknowledgement.
import { Button, Group, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import type { AlertKind } from '../../../protocol/alerts.ts';
import { ask } from '../../api.ts';
import { alertsQuery, fleetsQuery, reading, robotsQuery } from '../../queries.ts';
import { Badge } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { Problem } from '../../ui/states.tsx';
import { clockTime, dateAndTime } from '../../ui/time.tsx';
import { kinds } from '../alerts/kinds.ts';
import { incidentsOf } from './incidents.ts';

/** Incidents that are shown; the overview must stay readable. */
const SHOWN = 10;

export function IncidentList({ fleetId }: { fleetId: string }) {
  const alerts = useQuery(alertsQuery);
  const robots = useQuery(robotsQuery);
  const fleets = useQuery(fleetsQuery);
  const [isUnfolded, setUnfolded] = useState(false);
  const acknowledge = useMutation({
    mutationFn: (alert_ids: string[]) =>
      ask('POST /api/v1/alerts/acknowledge', { body: { alert_ids } }),
  });
  if (!alerts.data || !robots.data || !fleets.data) return null;
  const sources = { alerts: alerts.data, robots: robots.data, fleets: fleets.data, fleetId };
  const incidents = incidentsOf(sources);
  const open = incidents.filter(({ isAcknowledged }) => !isAcknowledged);
  const acknowledgeAll = (some: typeof open) =>
    acknowledge.mutate(some.flatMap((one) => one.alerts.map(({ id }) => id)).slice(0, 1000));
  return (
    <Card
      title={open.length === 0 ? 'Nothing needs attention' : 'Needs attention'}
      actions={
        open.length > 1 && (
          <Button size="compact-xs" onClick={() => acknowledgeAll(open)}>
            Acknowledge all
          </Button>
        )
      }
    >
      <Problem of={acknowledge} mb="sm" />
      <UsualRules isQuiet={incidents.length === 0} />
      <ul className="incidents" data-folded={!isUnfolded || undefined}>
        {incidents.slice(0, SHOWN).map((one) => (
          <li key={one.key}>
            <Badge tone={one.tone}>{kinds[one.kind].title}</Badge>
            <div>
              <Link href={one.href}>{one.text}</Link> since{' '}
              <time dateTime={one.since} title={dateAndTime(one.since)}>
                {clockTime(one.since)}
              </time>
              {one.detail && <div className="incident-detail">{one.detail}</div>}
            </div>
            {one.isAcknowledged ? (
              <Badge tone="plain">acknowledged</Badge>
            ) : (
              <Button size="compact-xs" onClick={() => acknowledgeAll([one])}>
                Acknowledge
              </Button>
            )}
          </li>
        ))}
      </ul>
      {!isUnfolded && incidents.length > 4 && (
        <Button className="unfold" size="compact-xs" onClick={() => setUnfolded(true)}>
          Show all {Math.min(incidents.length, SHOWN)}
        </Button>
      )}
      {incidents.length > SHOWN && <Link href="/alerts">and {incidents.length - SHOWN} more</Link>}
    </Card>
  );
}

const usual = [
  'robot_offline',
  'robot_state',
  'error_event',
  'battery_low',
  'anchor_failed',
  'anchor_stuck',
] as const satisfies readonly AlertKind[];

/** Says that no alert is open. An account without rules gets a button that creates the usual rules. */
function UsualRules({ isQuiet }: { isQuiet: boolean }) {
  const rules = useQuery(reading(['alert-rules'], 'GET /api/v1/alert-rules'));
  const create = useMutation({
    async mutationFn() {
      for (const kind of usual) {
        await ask('POST /api/v1/alert-rules', { body: { kind, threshold: kinds[kind].usual } });
      }
    },
  });
  if (rules.data?.rules.length !== 0) {
    return isQuiet && <Text c="dimmed">Your alert rules found nothing.</Text>;
  }
  return (
    <Group mb="sm">
      <Text>No rule watches your robots, so nothing can appear here.</Text>
      <Button size="xs" loading={create.isPending} onClick={() => create.mutate()}>
        Watch with the usual rules
      </Button>
      <Problem of={create} />
    </Group>
  );
}
