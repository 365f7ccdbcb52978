// Stores events of robots and lists them by filter.

import type { EventFilter, EventRecord, EventStore, NewEvent } from '../../ports/events.ts';
import { rowBytes } from '../../rules/storage.ts';
import { EVENT_COLUMNS, eventMessage, isSameEvent } from '../rows/events.ts';
import { hourOf } from '../stats.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { plannedAnew, type Sql, sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';

// No row if the robot or its key is gone; a row of nulls if the event exists. The hours are locked last, because other
// robots count in them too.
const insert = sql(`WITH
  robot AS MATERIALIZED (
    SELECT id, wallet, fleet_id FROM robots WHERE id = $1 AND key_hash = $2 FOR UPDATE
  ),
  inserted AS (
    INSERT INTO events (robot_id, id, event_type, severity, message, payload, occurred_at, created_at)
    SELECT robot.id, $3::uuid, $4, $5, $6, $7, $8, $9::bigint FROM robot
    ON CONFLICT (robot_id, id) DO NOTHING RETURNING ${EVENT_COLUMNS}
  ),
  seen AS (
    UPDATE robots SET last_seen_at = inserted."createdAt" FROM inserted
    WHERE robots.id = inserted."robotId"
      AND (robots.last_seen_at IS NULL OR robots.last_seen_at < inserted."createdAt")
  ),
  counted AS (
    INSERT INTO activity_hours AS a (scope, at, info, warn, error)
    SELECT c.scope, $10::bigint, (severity = 'info')::int, (severity = 'warn')::int,
      (severity = 'error')::int
    FROM inserted JOIN robot ON robot.id = inserted."robotId"
    CROSS JOIN LATERAL (VALUES (robot.wallet), (robot.fleet_id::text)) AS c (scope)
    WHERE c.scope IS NOT NULL ORDER BY c.scope
    ON CONFLICT (scope, at) DO UPDATE SET info = a.info + excluded.info,
      warn = a.warn + excluded.warn, error = a.error + excluded.error
  ),
  reported AS (
    INSERT INTO webhook_deliveries (id, webhook_id, type, data, created_at)
    SELECT gen_random_uuid(), w.id, 'event.created', $11, inserted."createdAt"
    FROM inserted JOIN robot ON robot.id = inserted."robotId" JOIN webhooks w USING (wallet)
    WHERE w.disabled_at IS NULL AND w.events LIKE '%"event.created"%'
  )
  SELECT robot.wallet, inserted.* FROM robot LEFT JOIN inserted ON inserted."robotId" = robot.id`);
const find = sql(`SELECT ${EVENT_COLUMNS} FROM events WHERE robot_id = $1 AND id = $2`);
const seen = sql(`UPDATE robots SET last_seen_at = greatest(last_seen_at, $3)
  WHERE id = $1 AND key_hash = $2`);

export function eventStore(access: Access, usage: StorageUsage): EventStore {
  return {
    createEvent: (event) => createEvent(access, usage, event),

    async listEvents(filter, { limit, before }) {
      const { robotId, wallet, severity, eventType } = filter;
      const { ofAccount, ofRobot } = pages[kindOf(filter)];
      const wanted = [eventType, severity].filter((value) => value !== null);
      const below = before ?? Number.MAX_SAFE_INTEGER;
      if (robotId === null) {
        return access.rows(ofAccount, [wallet, below, limit, ...wanted]);
      }
      const rows = await access.rows<EventRecord | Record<keyof EventRecord, null>>(ofRobot, [
        wallet,
        below,
        limit,
        ...wanted,
        robotId,
      ]);
      // A robot without events gives one row of nulls.
      if (rows.length === 0) return null;
      return rows.filter((row): row is EventRecord => row.seq !== null);
    },
  };
}

async function createEvent(
  access: Access,
  usage: StorageUsage,
  event: NewEvent,
): ReturnType<EventStore['createEvent']> {
  const { robotId, keyHash, id, createdAt } = event;
  const row = await access.first<
    (EventRecord | Record<keyof EventRecord, null>) & { wallet: string }
  >(insert, toValues(event));
  if (row === undefined) return { outcome: 'key_revoked' };
  if (row.seq !== null) {
    const { wallet, ...created } = row;
    usage.add(wallet, rowBytes(event.message, event.payload));
    return { outcome: 'created', event: created };
  }
  const stored = await access.first<EventRecord>(find, [robotId, id]);
  // Retention deleted the stored event meanwhile.
  if (stored === undefined) return createEvent(access, usage, event);
  if (!isSameEvent(stored, event)) return { outcome: 'id_conflict' };
  const found = await access.run(seen, [robotId, keyHash, createdAt]);
  return found === 0 ? { outcome: 'key_revoked' } : { outcome: 'repeated', event: stored };
}

function toValues(event: NewEvent) {
  return [
    event.robotId,
    event.keyHash,
    event.id,
    event.eventType,
    event.severity,
    event.message,
    event.payload,
    event.occurredAt,
    event.createdAt,
    hourOf(event.createdAt),
    JSON.stringify(eventMessage(event)),
  ];
}

/** Page statements by filter. The values of the filter start at `$4`. An index on these columns and seq serves each. */
const pages = {
  all: pagesBy([]),
  type: pagesBy(['event_type']),
  severity: pagesBy(['severity']),
  both: pagesBy(['event_type', 'severity']),
};

function kindOf({ severity, eventType }: EventFilter): keyof typeof pages {
  if (eventType === null) return severity === null ? 'all' : 'severity';
  return severity === null ? 'type' : 'both';
}

/**
 * Merges the robots' events, so a deleted robot's events disappear at once. Only as many robots as the page has events
 * can contribute, those with the newest events. The cost depends on the number of robots and the page size.
 */
function pagesBy(wanted: string[]): { ofAccount: Sql; ofRobot: Sql } {
  const values = wanted.map((_, i) => `$${4 + i}`);
  const columns = ['robot_id', ...wanted, 'seq'];
  // A range of rows instead of equality: no other index has this order. With equality, the index on seq has the order
  // too, and a plan could walk through the events of all other robots.
  const newest = (chosen: string, robot: string, limit: string) => {
    const ofRobot = [robot, ...values].join(', ');
    return `SELECT ${chosen} FROM events
      WHERE (${columns.join(', ')}) >= (${ofRobot}, 0) AND (${columns.join(', ')}) < (${ofRobot}, $2)
      ORDER BY ${columns.map((column) => `${column} DESC`).join(', ')} LIMIT ${limit}`;
  };
  return {
    ofAccount: plannedAnew(`WITH
      newest AS (
        SELECT robots.id FROM robots
        CROSS JOIN LATERAL (${newest('seq', 'robots.id', '1')}) AS first
        WHERE robots.wallet = $1 ORDER BY first.seq DESC LIMIT $3
      ),
      page AS (
        SELECT of_robot.seq FROM newest
        CROSS JOIN LATERAL (${newest('seq', 'newest.id', '$3')}) AS of_robot
        ORDER BY of_robot.seq DESC LIMIT $3
      )
      SELECT ${EVENT_COLUMNS} FROM page JOIN events USING (seq) ORDER BY seq DESC`),
    ofRobot: plannedAnew(`SELECT page.* FROM robots
      LEFT JOIN LATERAL (${newest(EVENT_COLUMNS, 'robots.id', '$3')}) AS page ON true
      WHERE robots.id = $${4 + wanted.length} AND robots.wallet = $1 ORDER BY page.seq DESC`),
  };
}
