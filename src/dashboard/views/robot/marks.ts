// Marks in a robot's charts: its tasks and events.
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Severity } from '../../../protocol/telemetry.ts';
import type { Mark } from '../../charts/time-series.tsx';
import { reading } from '../../queries.ts';
import { eventTimeNote } from '../../ui/event-time.tsx';
import type { Period } from './period.ts';

const colors: Record<Severity, string> = { info: 'info-bar', warn: 'warn-bar', error: 'bad-bar' };

/** Events of a period are also looked for among those that were received this long after it. */
const LATE_MS = 7 * 24 * 3_600_000;

/** The newest 200 tasks and events of the period. Events are at the time that the robot states, if it states one. */
export function useMarks(robotId: string, { range, from, to }: Period): readonly Mark[] {
  const received = (start: number, end: number) => ({
    robot_id: robotId,
    from: new Date(start).toISOString(),
    to: new Date(end).toISOString(),
    limit: '200',
  });
  // A range up to now moves each minute. Its requests end later, so that they find what has just happened, and it keeps
  // one key: with another there would be no marks until the answer is there.
  const query = received(from, range === null ? to : to + LATE_MS);
  const shown = [robotId, range ?? query];
  const late = received(to, to + LATE_MS);
  const events = useQuery(reading(['events', 'marks', shown], 'GET /api/v1/events', { query }));
  const lateEvents = useQuery({
    ...reading(['events', 'marks', late], 'GET /api/v1/events', { query: late }),
    enabled: range === null,
  });
  const tasks = useQuery(reading(['tasks', 'marks', shown], 'GET /api/v1/tasks', { query }));
  return useMemo(() => {
    const items = [...(lateEvents.data?.items ?? []), ...(events.data?.items ?? [])];
    const ofEvents = items.map((event) => ({
      at: Date.parse(event.occurred_at ?? event.created_at) || Date.parse(event.created_at),
      label: `${event.severity}: ${event.message || event.event_type} ${eventTimeNote(event)}`,
      color: colors[event.severity],
      href: `/events?severity=${event.severity}`,
    }));
    const ofTasks = tasks.data?.items.map(({ id, title, created_at }) => ({
      at: Date.parse(created_at),
      label: `Task: ${title}`,
      color: 'good-bar',
      href: `/tasks/${id}`,
    }));
    // What comes later is drawn on top: errors must not lie below tasks.
    const isError = ({ color }: Mark) => Number(color === colors.error);
    const marks = [...(ofTasks ?? []), ...ofEvents.sort((a, b) => isError(a) - isError(b))];
    return marks.filter(({ at }) => at >= from && at < to);
  }, [events.data, lateEvents.data, tasks.data, from, to]);
}
