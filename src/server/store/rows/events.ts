// The columns of events.

import type { EventRecord, NewEvent } from '../../ports/events.ts';

export const EVENT_COLUMNS = `seq, robot_id AS "robotId", id, event_type AS "eventType", severity, message,
  payload, occurred_at AS "occurredAt", created_at AS "createdAt"`;

/** Compares the payloads as text: both are canonical JSON, so equal content is equal text. */
export function isSameEvent(stored: EventRecord, event: NewEvent): boolean {
  return (
    stored.eventType === event.eventType &&
    stored.severity === event.severity &&
    stored.message === event.message &&
    stored.payload === event.payload &&
    stored.occurredAt === event.occurredAt
  );
}

/** The `data` of a webhook's message about the event. */
export function eventMessage({ id, robotId, eventType, severity, message }: NewEvent): object {
  return { id, robot_id: robotId, event_type: eventType, severity, message };
}
