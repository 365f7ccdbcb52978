// Marks in a robot's charts: its tasks and events.
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Severity } from '../../../protocol/telemetry.ts';
import type { Mark } from '../../charts/time-series.tsx';
import { reading } from '../../queries.ts';
import type { Period } from './period.ts';

const colors: Record<Severity, string> = { info: 'info-bar', warn: 'warn-bar', error: 'bad-bar' };

/** The newest 200 tasks and events of the period. Events are at the time that the robot states, if it states one. */
export function useMarks(robotId: string, { from, to }: Period): readonly Mark[] {
  const query = {
    robot_id: robotId,
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    limit: '200',
  };
  const events = useQuery(reading(['events', 'marks', query], 'GET /api/v1/events', { query }));
  const tasks = useQuery(reading(['tasks', 'marks', query], 'GET /api/v1/tasks', { query }));
  return useMemo(() => {
    const ofEvents = events.data?.items.map(({ occurred_at, created_at, ...event }) => ({
      at: Date.parse(occurred_at ?? created_at) || Date.parse(created_at),
      label: `${event.severity}: ${event.message || event.event_type}`,
      color: colors[event.severity],
      href: `/events?severity=${event.severity}`,
    }));
    const ofTasks = tasks.data?.items.map(({ id, title, created_at }) => ({
      at: Date.parse(created_at),
      label: `Task: ${title}`,
      color: 'good-bar',
      href: `/tasks/${id}`,
    }));
    return [...(ofEvents ?? []), ...(ofTasks ?? [])].filter(({ at }) => at >= from && at < to);
  }, [events.data, tasks.data, from, to]);
}
