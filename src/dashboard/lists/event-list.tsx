// The table of ops events, for one robot or all.
import type { OpsEvent, Severity } from '../../protocol/telemetry.ts';
import { ask } from '../api.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { EventTime } from '../ui/event-time.tsx';
import { FirstCall } from '../ui/first-call.tsx';
import { Empty } from '../ui/states.tsx';
import { Json } from '../ui/values.tsx';
import { type ListProps, PagedList } from './paged-list.tsx';
import { useRobotLinks } from './robot-links.tsx';

const tones: Record<Severity, Tone> = { info: 'plain', warn: 'warn', error: 'bad' };

/** Ops events, newest first, with the robot's name unless the list is of one robot. `filter` is part of the query. */
export default function EventList({ filter, isPart }: ListProps) {
  const linkTo = useRobotLinks();
  const robotOf = (event: OpsEvent) => linkTo(event.robot_id);
  const withRobot = filter.robot_id === undefined;
  return (
    <PagedList
      isPart={isPart}
      what="events"
      queryKey={['events', filter]}
      read={(query, signal) =>
        ask('GET /api/v1/events', { query: { ...filter, ...query }, signal })
      }
      empty={
        <Empty title="No events">
          Robots report events through the API.
          <FirstCall call="POST /api/v1/events" body={{ event_type: 'low_light' }} by="ROBOT_KEY" />
        </Empty>
      }
      columns={[
        {
          title: 'Event',
          cell: (event) => (
            <>
              <Badge tone={tones[event.severity]}>{event.severity}</Badge>{' '}
              <strong>{event.event_type}</strong>
              {withRobot && <div className="narrow-only">{robotOf(event)}</div>}
              {event.message && <p className="event-message">{event.message}</p>}
              {Object.keys(event.payload).length > 0 && (
                <details>
                  <summary>Payload</summary>
                  <Json value={event.payload} what="payload" />
                </details>
              )}
            </>
          ),
        },
        withRobot && { title: 'Robot', isWide: true, width: '14rem', cell: robotOf },
        { title: 'When', width: '9.5rem', cell: (event) => <EventTime event={event} /> },
      ]}
    />
  );
}
