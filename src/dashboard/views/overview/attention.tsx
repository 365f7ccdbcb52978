// The list of what needs attention.
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { ask } from '../../api.ts';
import { accountQuery, reading, robotsQuery } from '../../queries.ts';
import { Badge } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { Ago, useTenSeconds } from '../../ui/time.tsx';
import { AlertState } from '../alerts/alert-state.tsx';
import { problemsOf } from './problems.ts';

/** Problems that are shown; the overview must stay readable. */
const SHOWN = 50;

/** States of the anchors of claimed tasks that may need attention. */
const states = ['failed', 'refused', 'queued', 'submitted'] as const;

export function Attention({ fleetId }: { fleetId: string }) {
  const now = useTenSeconds();
  const { data: account } = useQuery(accountQuery);
  const robots = useQuery(robotsQuery);
  const open = { open: 'true', limit: '200' } as const;
  const alerts = useQuery(reading(['alerts', 'newest'], 'GET /api/v1/alerts', { query: open }));
  const tasks = useQuery({
    queryKey: ['tasks', 'attention', fleetId],
    queryFn: async ({ signal }) => {
      const query = { limit: '50', ...(fleetId !== '' && { fleet_id: fleetId }) };
      // The service looks through the newest 1 000 tasks. Most are verified, so it leaves those out first.
      const claimed = states.map((state) => ({ ...query, state, status: 'claimed' as const }));
      const queries = [...claimed, { ...query, state: 'reorged' as const }];
      const pages = queries.map((one) => ask('GET /api/v1/tasks', { query: one, signal }));
      return (await Promise.all(pages)).flatMap(({ items }) => items);
    },
  });
  const shown = robots.data?.filter((robot) => fleetId === '' || robot.fleet_id === fleetId);
  const names = new Map(shown?.map(({ id, name }) => [id, name]));
  const problems = problemsOf({
    robots: shown ?? [],
    alerts: alerts.data?.items ?? [],
    tasks: tasks.data ?? [],
    credits: account?.credits,
    now,
  }).filter(({ robotId }) => robotId === null || names.has(robotId));
  if (!robots.data || !alerts.data || !tasks.data) return null;
  return (
    <Card title={problems.length === 0 ? 'Nothing needs attention' : 'Needs attention'}>
      {problems.length === 0 ? (
        <Text c="dimmed">
          No open alert, no robot offline or in error, no anchor failed or stuck.
        </Text>
      ) : (
        <ul className="problems">
          {problems.slice(0, SHOWN).map(({ key, tone, title, href, robotId, since, alert }) => (
            <li key={key}>
              <Link href={href}>
                <Badge tone={tone}>{title}</Badge>
              </Link>
              {robotId ? <Link href={`/robots/${robotId}`}>{names.get(robotId)}</Link> : <span />}
              <span className="dash">{since !== null && <Ago at={since} />}</span>
              {alert ? <AlertState alert={alert} /> : <span />}
            </li>
          ))}
          {problems.length > SHOWN && (
            <li>
              <Link href="/robots?state=offline">and {problems.length - SHOWN} more</Link>
            </li>
          )}
        </ul>
      )}
    </Card>
  );
}
