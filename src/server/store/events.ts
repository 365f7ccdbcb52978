// Stores events of robots and lists them by filter.

import type { EventFilter, EventRecord, EventStore, NewEvent } from '../ports/events.ts';
import { rowBytes } from '../rules/storage.ts';
import {
  first,
  newestBelow,
  page,
  rows,
  type StepRunner,
  type Steps,
  selected,
  some,
} from './engine/steps.ts';
import { beginOf } from './rows/roll-ups.ts';
import { type CountedIn, countActivity } from './stats.ts';
import type { StorageUsage } from './storage-usage.ts';
import { taskSql } from './tasks.ts';
import { queueMessages } from './webhook-outbox.ts';

const COLUMNS = `seq, robot_id AS "robotId", id, event_type AS "eventType", severity, message,
  payload, occurred_at AS "occurredAt", created_at AS "createdAt"`;

type Wanted = 'event_type' | 'severity';

/**
 * Merges the robots' events, so a deleted robot's events disappear at once. Only as many robots as the page has events
 * can contribute, those with the newest events. The cost depends on the number of robots and the page size. The values
 * of the filter start at `$4`; an index on these columns and seq serves each.
 */
function pagesBy(...wanted: Wanted[]) {
  const newest = (columns: string, robot: string, limit: string) => {
    const values = [robot, ...wanted.map((_, i) => `$${4 + i}`)];
    return `SELECT ${columns} FROM events WHERE ${newestBelow(['robot_id', ...wanted, 'seq'], values, '$2')}
      LIMIT ${limit}`;
  };
  return {
    ofAccount: `SELECT ${COLUMNS} FROM events WHERE seq ${selected(`WITH
      newest AS MATERIALIZED
        (SELECT id, (${newest('seq', 'robots.id', '1')}) AS seq FROM robots WHERE wallet = $1),
      first AS (SELECT id FROM newest WHERE seq IS NOT NULL ORDER BY seq DESC LIMIT $3)
      SELECT g.value::bigint FROM first
        CROSS JOIN json_array_elements_text((SELECT json_agg(of_robot.seq)
          FROM (${newest('seq', 'first.id', '$3')}) AS of_robot)) AS g
        ORDER BY 1 DESC LIMIT $3`)}
      ORDER BY seq DESC`,
    /** The newest event of each robot. `$3` is 1. */
    heads: `SELECT id, (${newest('seq', 'robots.id', '$3')}) AS seq FROM robots WHERE wallet = $1`,
    ofRobot: newest(COLUMNS, '$1', '$3'),
  };
}

export const eventPages = {
  all: pagesBy(),
  type: pagesBy('event_type'),
  severity: pagesBy('severity'),
  both: pagesBy('event_type', 'severity'),
};

export const eventSql = {
  lockRobot: 'SELECT wallet, fleet_id FROM robots WHERE id = $1 AND key_hash = $2 FOR UPDATE',
  find: `SELECT ${COLUMNS} FROM events WHERE robot_id = $1 AND id = $2`,
  insert: `INSERT INTO events (robot_id, id, event_type, severity, message, payload, occurred_at,
      created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (robot_id, id) DO NOTHING RETURNING ${COLUMNS}`,
  seen: `UPDATE robots SET last_seen_at = $2
    WHERE id = $1 AND (last_seen_at IS NULL OR last_seen_at < $2)`,
} as const;

export function eventStore(runner: StepRunner, usage: StorageUsage): EventStore {
  const { read, write, isInProcess } = runner;
  return {
    async createEvent(event) {
      const { wallet, ...result } = await write(() => createEvent(event));
      if (wallet !== undefined) usage.add(wallet, rowBytes(event.message, event.payload));
      return result;
    },

    listEvents: ({ wallet, robotId, ...filter }, { limit, before }) =>
      read(function* () {
        const queries = eventPages[kindOf(filter)];
        const { ofAccount, ofRobot } = queries;
        const wanted = [filter.eventType, filter.severity].filter((value) => value !== null);
        const below = before ?? Number.MAX_SAFE_INTEGER;
        const values = [below, limit, ...wanted];
        if (robotId === null && isInProcess) {
          return yield* mergedPage(queries, wallet, { below, limit, wanted });
        }
        if (robotId === null) return yield* page<EventRecord>(ofAccount, wallet, ...values);
        if (!(yield* some(taskSql.ownRobot, robotId, wallet))) return null;
        return yield* page<EventRecord>(ofRobot, robotId, ...values);
      }),
  };
}

/**
 * The page of an account by two index descents per event. In process, `ofAccount` would block the event loop: it reads a
 * page of each robot.
 */
function* mergedPage(
  { heads, ofRobot }: Pick<ReturnType<typeof pagesBy>, 'heads' | 'ofRobot'>,
  wallet: string,
  { below, limit, wanted }: { below: number; limit: number; wanted: readonly string[] },
): Steps<EventRecord[]> {
  type Head = { id: string; seq: number | null };
  const robots = yield* rows<Head>(heads, wallet, below, 1, ...wanted);
  const newest = () =>
    robots.reduce((a, b) => ((b.seq ?? 0) > (a.seq ?? 0) ? b : a), { id: '', seq: null });
  const found: EventRecord[] = [];
  for (let head = newest(); head.seq !== null && found.length < limit; head = newest()) {
    const [event, next] = yield* rows<EventRecord>(ofRobot, head.id, head.seq + 1, 2, ...wanted);
    if (event !== undefined) found.push(event);
    head.seq = next?.seq ?? null;
  }
  return found;
}

/** `wallet` is the account of an event that was created. */
function* createEvent(
  event: NewEvent,
): Steps<Awaited<ReturnType<EventStore['createEvent']>> & { wallet?: string }> {
  const { robotId, keyHash, id, eventType, severity, message, createdAt } = event;
  const robot = yield* first<CountedIn>(eventSql.lockRobot, robotId, keyHash);
  if (robot === undefined) return { outcome: 'key_revoked' };
  const stored = yield* first<EventRecord>(eventSql.find, robotId, id);
  if (stored !== undefined && !isSameEvent(stored, event)) return { outcome: 'id_conflict' };
  yield* rows(eventSql.seen, robotId, createdAt);
  if (stored !== undefined) return { outcome: 'repeated', event: stored };
  const values = [severity, message, event.payload, event.occurredAt, createdAt];
  const created = yield* first<EventRecord>(eventSql.insert, robotId, id, eventType, ...values);
  if (created === undefined) throw new Error('The event was not stored');
  const { wallet } = robot;
  const data = { id, robot_id: robotId, event_type: eventType, severity, message };
  yield* queueMessages([{ wallet, type: 'event.created', data }], createdAt);
  yield* countActivity([{ ...robot, at: beginOf('hour', createdAt), [severity]: 1 }]);
  return { outcome: 'created', event: created, wallet };
}

/** Compares the payloads as text: both are canonical JSON, so equal content is equal text. */
function isSameEvent(stored: EventRecord, event: NewEvent): boolean {
  return (
    stored.eventType === event.eventType &&
    stored.severity === event.severity &&
    stored.message === event.message &&
    stored.payload === event.payload &&
    stored.occurredAt === event.occurredAt
  );
}

function kindOf({
  severity,
  eventType,
}: Pick<EventFilter, 'severity' | 'eventType'>): keyof typeof eventPages {
  if (eventType === null) return severity === null ? 'all' : 'severity';
  return severity === null ? 'type' : 'both';
}
