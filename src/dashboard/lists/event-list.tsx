// The table of ops events, for one robot or all.
import type { OpsEvent, Severity } from '../../protocol/telemetry.ts';
import { ask } from '../api.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { FirstCall } from '../ui/first-call.tsx';
import { Empty } from '../ui/states.tsx';
import { Ago, duration } from '../ui/time.tsx';
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

/** Events that arrive within this time, in ms, count as reported at once. */
const PROMPT_MS = 60_000;

/** When the event happened by the robot's clock, and how much later the service received it. */
function EventTime({ event: { occurred_at, created_at } }: { event: OpsEvent }) {
  const lateMs = Date.parse(created_at) - Date.parse(occurred_at ?? created_at);
  return (
    <>
      {occurred_at === null ? 'received' : 'occurred'} <Ago at={occurred_at ?? created_at} />
      {lateMs >= PROMPT_MS && <div className="late">received {duration(lateMs)} later</div>}
    </>
  );
}
