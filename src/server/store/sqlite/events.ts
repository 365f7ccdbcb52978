import type { Database } from 'better-sqlite3';
import type { Severity } from '../../../protocol/telemetry.ts';
import type { EventFilter, EventRecord, EventStore, NewEvent } from '../../core/telemetry-store.ts';
import type { Access } from './access.ts';
import { activityHours, type CountedIn, hourOf } from './activity-hours.ts';
import { sightings } from './sightings.ts';

interface EventRow {
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

const COLUMNS =
  'seq, robot_id, id, event_type, severity, message, payload, occurred_at, created_at';

const SEVERITIES: readonly Severity[] = ['info', 'warn', 'error'];

export function eventStore(access: Access): EventStore {
  const { reader, writer, write, read } = access;
  const robotOfKey = writer.prepare<[string, string], CountedIn>(
    'SELECT wallet, fleet_id FROM robots WHERE id = ? AND key_hash = ?',
  );
  const find = writer.prepare<[string, string], EventRow>(
    `SELECT ${COLUMNS} FROM events WHERE robot_id = ? AND id = ?`,
  );
  const insert = writer.prepare<[Record<string, string | number | null>], EventRow>(
    `INSERT INTO events (robot_id, id, event_type, severity, message, payload, occurred_at,
       created_at)
     VALUES (:robotId, :id, :eventType, :severity, :message, :payload, :occurredAt,
       :createdAt)
     RETURNING ${COLUMNS}`,
  );
  const seen = sightings(writer);
  const countActivity = activityHours(writer);
  const robots = reader.prepare<[string], { id: string }>('SELECT id FROM robots WHERE wallet = ?');
  const readPage = eventPages(access);

  return {
    createEvent: (event) =>
      write(() => {
        const robot = robotOfKey.get(event.robotId, event.keyHash);
        if (robot === undefined) return { outcome: 'robot_gone' };
        const stored = find.get(event.robotId, event.id);
        if (stored !== undefined && !isSameEvent(stored, event)) return { outcome: 'id_conflict' };
        seen(event.robotId, event.createdAt);
        if (stored !== undefined) return { outcome: 'repeated', event: toEvent(stored) };
        const { keyHash: _, ...row } = event;
        const inserted = insert.get(row);
        if (inserted === undefined) throw new Error('The event was not stored');
        countActivity(robot, event.severity, hourOf(event.createdAt), 1);
        return { outcome: 'created', event: toEvent(inserted) };
      }),

    listEvents: (filter, { limit, before }) =>
      read(() => {
        const owned = robots.all(filter.wallet).map(({ id }) => id);
        const asked = owned.filter((id) => filter.robotId === null || id === filter.robotId);
        if (filter.robotId !== null && asked.length === 0) return null;
        const newest = before ?? Number.MAX_SAFE_INTEGER;
        return readPage(asked, filter, newest, limit).map(toEvent);
      }),
  };
}

/**
 * One page of any filter, by robot: those of a deleted robot are in no list from its deletion on, and the cost
 * is that of the account's robots and the page, whatever was ever stored.
 */
function eventPages({
  reader,
}: Access): (robotIds: string[], filter: EventFilter, before: number, limit: number) => EventRow[] {
  const row = reader.prepare<[number], EventRow>(`SELECT ${COLUMNS} FROM events WHERE seq = ?`);
  const newestOf = newestSequence(reader);

  return (robotIds, { severity, eventType }, before, limit) => {
    const streams = robotIds.flatMap((robotId) =>
      (severity === null ? SEVERITIES : [severity]).map((one) => {
        const next = (below: number) => newestOf(robotId, one, eventType, below);
        return { next, seq: next(before) };
      }),
    );
    const page: EventRow[] = [];
    while (page.length < limit) {
      const newest = streams.reduce((a, b) => (b.seq > a.seq ? b : a), NO_STREAM);
      const found = row.get(newest.seq);
      if (found === undefined) break;
      page.push(found);
      newest.seq = newest.next(newest.seq);
    }
    return page;
  };
}

const NONE = -1;
const NO_STREAM = { next: () => NONE, seq: NONE };

function newestSequence(
  reader: Database,
): (robotId: string, severity: Severity, eventType: string | null, below: number) => number {
  const ofAny = reader.prepare<[string, Severity, number], { seq: number }>(
    `SELECT seq FROM events INDEXED BY events_robot
     WHERE robot_id = ? AND severity = ? AND seq < ? ORDER BY seq DESC LIMIT 1`,
  );
  const ofType = reader.prepare<[string, string, Severity, number], { seq: number }>(
    `SELECT seq FROM events INDEXED BY events_robot_type
     WHERE robot_id = ? AND event_type = ? AND severity = ? AND seq < ?
     ORDER BY seq DESC LIMIT 1`,
  );
  return (robotId, severity, eventType, below) => {
    const found =
      eventType === null
        ? ofAny.get(robotId, severity, below)
        : ofType.get(robotId, eventType, severity, below);
    return found?.seq ?? NONE;
  };
}

/** Documents are canonical text, so equal content is equal text. */
function isSameEvent(stored: EventRow, event: NewEvent): boolean {
  return (
    stored.event_type === event.eventType &&
    stored.severity === event.severity &&
    stored.message === event.message &&
    stored.payload === event.payload &&
    stored.occurred_at === event.occurredAt
  );
}

function toEvent(row: EventRow): EventRecord {
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
