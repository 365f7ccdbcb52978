// Stores events of robots and lists them by filter.

import type { Database } from 'better-sqlite3';
import type { EventFilter, EventRecord, EventStore } from '../../ports/events.ts';
import { rowBytes } from '../../rules/storage.ts';
import { EVENT_COLUMNS, eventMessage, isSameEvent } from '../rows/events.ts';
import { hourOf } from '../stats.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { queueMessages } from '../webhooks.ts';
import type { Access } from './engine/connections.ts';
import { runOn } from './engine/steps.ts';
import { lastSeen } from './robots.ts';
import { activityHours, type CountedIn } from './stats.ts';

export function eventStore(access: Access, usage: StorageUsage): EventStore {
  const { writer, write, read } = access;
  const robotOfKey = writer.prepare<[string, string], CountedIn>(
    'SELECT wallet, fleet_id FROM robots WHERE id = ? AND key_hash = ?',
  );
  const find = writer.prepare<[string, string], EventRecord>(
    `SELECT ${EVENT_COLUMNS} FROM events WHERE robot_id = ? AND id = ?`,
  );
  const insert = writer.prepare<[Record<string, string | number | null>], EventRecord>(
    `INSERT INTO events (robot_id, id, event_type, severity, message, payload, occurred_at,
       created_at)
     VALUES (:robotId, :id, :eventType, :severity, :message, :payload, :occurredAt,
       :createdAt)
     RETURNING ${EVENT_COLUMNS}`,
  );
  const seen = lastSeen(writer);
  const countActivity = activityHours(writer);
  const readPage = eventPages(access);
  const run = runOn(writer);

  return {
    async createEvent(event) {
      let counted = null as string | null;
      const result = await write((): Awaited<ReturnType<EventStore['createEvent']>> => {
        const robot = robotOfKey.get(event.robotId, event.keyHash);
        if (robot === undefined) return { outcome: 'key_revoked' };
        const stored = find.get(event.robotId, event.id);
        if (stored !== undefined && !isSameEvent(stored, event)) return { outcome: 'id_conflict' };
        seen(event.robotId, event.createdAt);
        if (stored !== undefined) return { outcome: 'repeated', event: stored };
        const { keyHash: _, ...row } = event;
        const inserted = insert.get(row);
        if (inserted === undefined) throw new Error('The event was not stored');
        countActivity(robot, event.severity, hourOf(event.createdAt), 1);
        counted = robot.wallet;
        const message = { wallet: robot.wallet, type: 'event.created' } as const;
        run(queueMessages([{ ...message, data: eventMessage(event) }], event.createdAt));
        return { outcome: 'created', event: inserted };
      });
      if (counted !== null) usage.add(counted, rowBytes(event.message, event.payload));
      return result;
    },

    listEvents: (filter, { limit, before }) =>
      read(() => readPage(filter, before ?? Number.MAX_SAFE_INTEGER, limit)),
  };
}

/** By filter: the index that has the wanted events of a robot in order, and its condition. */
const INDEXES = {
  all: { index: 'events_robot', wanted: '' },
  severity: { index: 'events_robot_severity', wanted: 'AND severity = :severity' },
  type: { index: 'events_robot_type', wanted: 'AND event_type = :eventType' },
  both: {
    index: 'events_robot_type_severity',
    wanted: 'AND event_type = :eventType AND severity = :severity',
  },
};

/** The newest wanted event of a robot; `seq` is null if there is none. */
interface Newest {
  robotId: string;
  seq: number | null;
}

/**
 * Reads a page of events; `null` if the account has no such robot. It merges the robots' events, so a deleted robot's
 * events disappear at once. The cost depends on the number of robots and the page size, not on the stored history.
 */
function eventPages({
  reader,
}: Access): (filter: EventFilter, below: number, limit: number) => EventRecord[] | null {
  const newest = newestOf(reader);
  const row = reader.prepare<[number], EventRecord>(
    `SELECT ${EVENT_COLUMNS} FROM events WHERE seq = ?`,
  );

  return (filter, below, limit) => {
    const { ofAccount, ofRobot } = newest[kindOf(filter)];
    const robots = (filter.robotId === null ? ofAccount : ofRobot).all({ ...filter, below });
    if (filter.robotId !== null && robots.length === 0) return null;
    const page: EventRecord[] = [];
    while (page.length < limit) {
      const next = robots.reduce(later, NOTHING);
      const found = next.seq === null ? undefined : row.get(next.seq);
      if (found === undefined) break;
      page.push(found);
      next.seq = ofRobot.get({ ...filter, robotId: next.robotId, below: found.seq })?.seq ?? null;
    }
    return page;
  };
}

const NOTHING: Newest = { robotId: '', seq: null };

function later(a: Newest, b: Newest): Newest {
  return (b.seq ?? 0) > (a.seq ?? 0) ? b : a;
}

function kindOf({ severity, eventType }: EventFilter): keyof typeof INDEXES {
  if (eventType === null) return severity === null ? 'all' : 'severity';
  return severity === null ? 'type' : 'both';
}

function newestOf(reader: Database) {
  const reading = ({ index, wanted }: { index: string; wanted: string }) => {
    const newest = (robots: string) =>
      reader.prepare<[EventFilter & { below: number }], Newest>(
        `SELECT robots.id AS robotId,
           (SELECT seq FROM events INDEXED BY ${index}
            WHERE robot_id = robots.id ${wanted} AND seq < :below
            ORDER BY seq DESC LIMIT 1) AS seq
         FROM robots WHERE ${robots}`,
      );
    return {
      ofAccount: newest('robots.wallet = :wallet'),
      ofRobot: newest('robots.id = :robotId AND robots.wallet = :wallet'),
    };
  };
  return {
    all: reading(INDEXES.all),
    severity: reading(INDEXES.severity),
    type: reading(INDEXES.type),
    both: reading(INDEXES.both),
  };
}
