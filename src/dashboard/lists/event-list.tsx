import { Button } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { OpsEvent, Severity } from '../../protocol/telemetry.ts';
import { ask } from '../api.ts';
import { robotsQuery } from '../queries.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { Empty, Failure, Loading } from '../ui/states.tsx';
import { Ago } from '../ui/time.tsx';

export interface EventFilter {
  severity?: Severity;
  robot_id?: string;
}

const tones: Record<Severity, Tone> = { info: 'plain', warn: 'warn', error: 'bad' };

/** Ops events, newest first. */
export function EventList({ filter }: { filter: EventFilter }) {
  const robots = useQuery(robotsQuery);
  const events = useInfiniteQuery({
    queryKey: ['events', filter],
    queryFn: ({ pageParam, signal }) =>
      ask('GET /api/v1/events', {
        query: { ...filter, limit: '25', ...(pageParam && { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: (page) => page.next_cursor,
  });
  if (events.data === undefined) {
    if (events.isError) return <Failure error={events.error} onRetry={events.refetch} />;
    return <Loading what="events" />;
  }
  const items = events.data.pages.flatMap((page) => page.items);
  if (items.length === 0) return <Empty title="No event here" />;
  const nameOf = (event: OpsEvent) => {
    if (filter.robot_id !== undefined) return null;
    return robots.data?.find(({ id }) => id === event.robot_id)?.name ?? 'robot';
  };
  return (
    <>
      <ul className="events">
        {items.map((event) => (
          <li key={event.id}>
            <div className="event-head">
              <Badge tone={tones[event.severity]}>{event.severity}</Badge>
              <strong>{event.event_type}</strong>
              {nameOf(event) && <Link href={`/robots/${event.robot_id}`}>{nameOf(event)}</Link>}
              <span className="event-time">
                <Ago at={event.created_at} />
              </span>
            </div>
            {event.message && <p>{event.message}</p>}
            {Object.keys(event.payload).length > 0 && (
              <details>
                <summary>Payload</summary>
                <pre className="json">{JSON.stringify(event.payload, null, 2)}</pre>
              </details>
            )}
          </li>
        ))}
      </ul>
      {events.hasNextPage && (
        <Button
          variant="default"
          mt="sm"
          loading={events.isFetchingNextPage}
          onClick={() => events.fetchNextPage()}
        >
          Show more
        </Button>
      )}
    </>
  );
}
