// Converts rows of events.

import type { Severity } from '../../../protocol/telemetry.ts';
import type { EventRecord, NewEvent } from '../../ports/events.ts';

export interface EventRow {
  seq: number;
  robot_id: string;
  id: string;
  event_type: string;
  severity: Severity;
  message: string;
  payload: string;
  occurred_at: string | null;
  created_at: number;
}

export const EVENT_COLUMNS =
  'seq, robot_id, id, event_type, severity, message, payload, occurred_at, created_at';

export function toEvent(row: EventRow): EventRecord {
  return {
    seq: row.seq,
    id: row.id,
    robotId: row.robot_id,
    eventType: row.event_type,
    severity: row.severity,
    message: row.message,
    payload: row.payload,
    occurredAt: row.occurred_at,
    createdAt: row.created_at,
  };
}

/** Compares the payloads as text: both are canonical JSON, so equal content is equal text. */
export function isSameEvent(stored: EventRow, event: NewEvent): boolean {
  return (
    stored.event_type === event.eventType &&
    stored.severity === event.severity &&
    stored.message === event.message &&
    stored.payload === event.payload &&
    stored.occurred_at === event.occurredAt
  );
}
