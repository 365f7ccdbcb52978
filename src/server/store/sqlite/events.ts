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
    `INSERT INTO events (robot_id, id, wallet, event_type, severity, message, payload, occurred_at,
       created_at)
     VALUES (:robotId, :id, :wallet, :eventType, :severity, :message, :payload, :occurredAt,
       :createdAt)
     RETURNING ${COLUMNS}`,
  );
  const seen = sightings(writer);
  const countActivity = activityHours(writer);
  const owned = reader.prepare<[string, string]>(
    'SELECT 1 FROM robots WHERE id = ? AND wallet = ?',
  );
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
        const inserted = insert.get({ ...row, wallet: robot.wallet });
        if (inserted === undefined) throw new Error('The event was not stored');
        countActivity(robot, event.severity, hourOf(event.createdAt), 1);
        return { outcome: 'created', event: toEvent(inserted) };
      }),

    listEvents: (filter, { limit, before }) =>
      read(() => {
        if (filter.robotId !== null && owned.get(filter.robotId, filter.wallet) === undefined) {
          return null;
        }
        return readPage(filter, before ?? Number.MAX_SAFE_INTEGER, limit).map(toEvent);
      }),
  };
}

/** One page of any filter: a short read by index for each severity asked for, merged. */
function eventPages({
  reader,
}: Access): (filter: EventFilter, before: number, limit: number) => EventRow[] {
  const pageOf = (scope: 'wallet' | 'robot') => {
    const column = scope === 'wallet' ? 'wallet' : 'robot_id';
    return {
      all: reader.prepare<[string, Severity, number, number], EventRow>(
        `SELECT ${COLUMNS} FROM events INDEXED BY events_${scope}
         WHERE ${column} = ? AND severity = ? AND seq < ? ORDER BY seq DESC LIMIT ?`,
      ),
      ofType: reader.prepare<[string, string, Severity, number, number], EventRow>(
        `SELECT ${COLUMNS} FROM events INDEXED BY events_${scope}_type
         WHERE ${column} = ? AND event_type = ? AND severity = ? AND seq < ?
         ORDER BY seq DESC LIMIT ?`,
      ),
    };
  };
  const pages = { wallet: pageOf('wallet'), robot: pageOf('robot') };

  return ({ wallet, robotId, severity, eventType }, before, limit) => {
    const { all, ofType } = robotId === null ? pages.wallet : pages.robot;
    const scope = robotId ?? wallet;
    const rows = (severity === null ? SEVERITIES : [severity]).flatMap((one) =>
      eventType === null
        ? all.all(scope, one, before, limit)
        : ofType.all(scope, eventType, one, before, limit),
    );
    return rows.sort((a, b) => b.seq - a.seq).slice(0, limit);
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
