// What a robot does now: state, battery, clock, running task and newest error.
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { Robot } from '../../../protocol/resources.ts';
import { reading } from '../../queries.ts';
import { Card, Fact } from '../../ui/card.tsx';
import { EventTime } from '../../ui/event-time.tsx';
import { Ago, duration } from '../../ui/time.tsx';
import { Json } from '../../ui/values.tsx';
import { Battery } from '../robots/battery.tsx';

export function Now({ robot }: { robot: Robot }) {
  const { state_since: since, state_at: at, clock_behind_s: behind, current_task: task } = robot;
  return (
    <Card title="Now">
      {behind !== null && (
        <p className="strip strip-warn">
          This robot's clock is {duration(behind * 1000)} behind. Its samples appear in the past.
        </p>
      )}
      <dl className="facts now">
        <Fact name="State">
          {robot.state ?? <span className="dash">never reported</span>}
          {since && at && (
            <>
              {' '}
              since <Ago at={since} />, reported <Ago at={at} />
            </>
          )}
        </Fact>
        <Fact name="Battery">
          <Battery percent={robot.battery_pct} />
        </Fact>
        <Fact name="Running task">
          {task ? (
            <>
              <Link href={`/tasks/${task.id}`}>{task.title}</Link>, claimed{' '}
              <Ago at={task.created_at} />
            </>
          ) : (
            <span className="dash">none</span>
          )}
        </Fact>
        <Fact name="Last error">
          {robot.last_error ? (
            <LastError robotId={robot.id} error={robot.last_error} />
          ) : (
            <span className="dash">none</span>
          )}
        </Fact>
      </dl>
    </Card>
  );
}

interface LastErrorProps {
  robotId: string;
  error: NonNullable<Robot['last_error']>;
}

/** The robot has the beginning of the message; the event has all of it, and the payload. */
function LastError({ robotId, error }: LastErrorProps) {
  const query = { robot_id: robotId, severity: 'error', limit: '1' } as const;
  const newest = useQuery(
    reading(['events', 'error', error.event_id], 'GET /api/v1/events', { query }),
  );
  const event = newest.data?.items[0];
  const { event_type, message } = event ?? error;
  return (
    <>
      <strong>{event_type}</strong>
      {message && `: ${message}`}, <EventTime event={event ?? error} />
      {event && Object.keys(event.payload).length > 0 && (
        <details>
          <summary>Payload</summary>
          <Json value={event.payload} what="payload of the error" />
        </details>
      )}
    </>
  );
}
