// The list of ops events, for one robot or all.
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { OpsEvent, Severity } from '../../protocol/telemetry.ts';
import { ask } from '../api.ts';
import { robotsQuery } from '../queries.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { Empty } from '../ui/states.tsx';
import { Ago } from '../ui/time.tsx';
import { Json } from '../ui/values.tsx';
import { PagedList } from './paged-list.tsx';

interface EventFilter {
  severity?: Severity;
  robot_id?: string;
}

const tones: Record<Severity, Tone> = { info: 'plain', warn: 'warn', error: 'bad' };

/** Ops events, newest first, with the robot's name unless the list is of one robot. */
export function EventList({ filter }: { filter: EventFilter }) {
  const { data: robots } = useQuery(robotsQuery);
  const names = new Map(robots?.map(({ id, name }) => [id, name]));
  const withRobot = filter.robot_id === undefined;
  return (
    <PagedList
      what="events"
      queryKey={['events', filter]}
      read={(query, signal) =>
        ask('GET /api/v1/events', { query: { ...filter, ...query }, signal })
      }
      empty={<Empty title="No events">Robots report events through the API.</Empty>}
    >
      {(events) => (
        <ul className="events">
          {events.map((event) => (
            <Event
              key={event.id}
              event={event}
              robot={withRobot ? names.get(event.robot_id) : null}
            />
          ))}
        </ul>
      )}
    </PagedList>
  );
}

/** `robot`: the robot's name, undefined until it is loaded, null if the list is of one robot. */
function Event({ event, robot }: { event: OpsEvent; robot: string | null | undefined }) {
  return (
    <li>
      <div className="event-head">
        <Badge tone={tones[event.severity]}>{event.severity}</Badge>
        <strong>{event.event_type}</strong>
        {robot !== null && <Link href={`/robots/${event.robot_id}`}>{robot ?? 'robot'}</Link>}
        <span className="event-time">
          <Ago at={event.created_at} />
        </span>
      </div>
      {event.message && <p>{event.message}</p>}
      {Object.keys(event.payload).length > 0 && (
        <details>
          <summary>Payload</summary>
          <Json value={event.payload} what="payload" />
        </details>
      )}
    </li>
  );
}
