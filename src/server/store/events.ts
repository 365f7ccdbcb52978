// Stores events of robots and lists them by filter.

import type { EventFilter, EventRecord, EventStore, NewEvent } from '../ports/events.ts';
import { happenedAt } from '../rules/events.ts';
import { rowBytes } from '../rules/storage.ts';
import type { Db, Tx } from './db/database.ts';
import { newestBelow, onPostgres, selected } from './db/dialect.ts';
import { page, raw, type Sql, sql } from './db/sql.ts';
import { lockRobot, markSeen, ownsRobot } from './robots.ts';
import { countActivity } from './stats.ts';
import type { StorageUsage } from './storage-usage.ts';
import { beginOf } from './telemetry/roll-ups.ts';
import { queueMessages } from './webhook-outbox.ts';

const COLUMNS = raw(`seq, robot_id AS "robotId", id, event_type AS "eventType", severity, message,
  payload, occurred_at AS "occurredAt", created_at AS "createdAt"`);

type Filter = Pick<EventFilter, 'eventType' | 'severity'>;

interface Range {
  below: number;
  limit: number;
}

export function eventStore(db: Db, usage: StorageUsage): EventStore {
  const { read, write, isInProcess } = db;
  return {
    async createEvent(event) {
      const { wallet, ...result } = await write((tx) => createEvent(tx, event));
      if (wallet !== undefined) usage.add(wallet, rowBytes(event.message, event.payload));
      return result;
    },

    listEvents: ({ wallet, robotId, ...filter }, { limit, before }) =>
      read(async (tx) => {
        const range = { below: before ?? Number.MAX_SAFE_INTEGER, limit };
        if (robotId === null) {
          const pageOfAccount = isInProcess ? mergedPage : joinedPage;
          return pageOfAccount(tx, wallet, filter, range);
        }
        if (!(await ownsRobot(tx, wallet, robotId))) return null;
        return tx.all<EventRecord>(page(newestOf(robotId, COLUMNS, filter, range)));
      }),
  };
}

/** Reads the robot's newest events. An index serves each combination of filters. */
function newestOf(
  robot: string | Sql,
  columns: Sql,
  { eventType, severity }: Filter,
  { below, limit }: Range,
): Sql {
  const values = { robot_id: robot, event_type: eventType, severity };
  const wanted = Object.entries(values).filter(([, value]) => value !== null);
  const isNext = newestBelow(
    wanted.map(([column]) => column),
    wanted.map(([, value]) => value),
    below,
  );
  return sql`SELECT ${columns} FROM events WHERE ${isNext} LIMIT ${limit}`;
}

const SEQ = raw('seq');

/**
 * Merges the robots' events, so a deleted robot's events disappear at once. Only as many robots as the page has events
 * can contribute, those with the newest events. The cost depends on the number of robots and the page size.
 */
function joinedPage(tx: Tx, wallet: string, filter: Filter, { below, limit }: Range) {
  const newest = newestOf(raw('robots.id'), SEQ, filter, { below, limit: 1 });
  const ofRobot = newestOf(raw('first.id'), SEQ, filter, { below, limit });
  const joined = onPostgres(sql`SELECT ${COLUMNS} FROM events WHERE seq ${selected(sql`WITH
      newest AS MATERIALIZED (SELECT id, (${newest}) AS seq FROM robots WHERE wallet = ${wallet}),
      first AS (SELECT id FROM newest WHERE seq IS NOT NULL ORDER BY seq DESC LIMIT ${limit})
      SELECT of_robot.seq FROM first CROSS JOIN LATERAL (${ofRobot}) AS of_robot
        ORDER BY 1 DESC LIMIT ${limit}`)}
      ORDER BY seq DESC`);
  return tx.all<EventRecord>(page(joined));
}

/**
 * The same page by two index descents per event. In process, `joinedPage` would block the event loop: it reads a page of
 * each robot.
 */
async function mergedPage(tx: Tx, wallet: string, filter: Filter, { below, limit }: Range) {
  type Head = { id: string; seq: number | null };
  const newestSeq = newestOf(raw('robots.id'), SEQ, filter, { below, limit: 1 });
  const robots = await tx.all<Head>(
    sql`SELECT id, (${newestSeq}) AS seq FROM robots WHERE wallet = ${wallet}`,
  );
  const newest = () =>
    robots.reduce((a, b) => ((b.seq ?? 0) > (a.seq ?? 0) ? b : a), { id: '', seq: null });
  const found: EventRecord[] = [];
  for (let head = newest(); head.seq !== null && found.length < limit; head = newest()) {
    const next = { below: head.seq + 1, limit: 2 };
    const [event, after] = await tx.all<EventRecord>(newestOf(head.id, COLUMNS, filter, next));
    if (event !== undefined) found.push(event);
    head.seq = after?.seq ?? null;
  }
  return found;
}

/** An older event is counted in the hour that lies this far before its receipt, in ms. */
const COUNTED_MS = 31 * 24 * 60 * 60_000;

type Created = Awaited<ReturnType<EventStore['createEvent']>>;

/** `wallet` is the account of an event that was created. */
async function createEvent(tx: Tx, event: NewEvent): Promise<Created & { wallet?: string }> {
  const { robotId, keyHash, id, eventType, severity, message, payload, createdAt } = event;
  const robot = await lockRobot(tx, robotId, keyHash);
  if (robot === null) return { outcome: 'key_revoked' };
  const stored = await tx.get<EventRecord>(
    sql`SELECT ${COLUMNS} FROM events WHERE robot_id = ${robotId} AND id = ${id}`,
  );
  if (stored !== null && !isSameEvent(stored, event)) return { outcome: 'id_conflict' };
  await markSeen(tx, robotId, createdAt);
  if (stored !== null) return { outcome: 'repeated', event: stored };
  const created = await tx.one<EventRecord>(sql`INSERT INTO events
      (robot_id, id, event_type, severity, message, payload, occurred_at, created_at)
    VALUES (${robotId}, ${id}, ${eventType}, ${severity}, ${message}, ${payload},
      ${event.occurredAt}, ${createdAt})
    ON CONFLICT (robot_id, id) DO NOTHING RETURNING ${COLUMNS}`);
  const { wallet } = robot;
  const data = { id, robot_id: robotId, event_type: eventType, severity, message };
  await queueMessages(tx, [{ wallet, type: 'event.created', data }], createdAt);
  // Counts by hour are never deleted, so a robot must not create them for arbitrary times.
  const counted = Math.max(happenedAt(event), createdAt - COUNTED_MS);
  await countActivity(tx, [{ ...robot, at: beginOf('hour', counted), [severity]: 1 }]);
  return { outcome: 'created', event: created, wallet };
}

const CONTENT = ['eventType', 'severity', 'message', 'payload', 'occurredAt'] as const;

/** Compares the payloads as text: both are canonical JSON, so equal content is equal text. */
function isSameEvent(stored: EventRecord, event: NewEvent): boolean {
  return CONTENT.every((field) => stored[field] === event[field]);
}
