// Creates and lists ops events.
import { v7 as newId } from 'uuid';
import { limits } from '../../protocol/limits.ts';
import type { Body, Query } from '../../protocol/routes.ts';
import type { OpsEvent } from '../../protocol/telemetry.ts';
import { formatTimestamp, utcOf } from '../../protocol/timestamp.ts';
import { wireError } from '../ports/errors.ts';
import type { EventRecord } from '../ports/events.ts';
import type { RobotCaller } from '../ports/robots.ts';
import { happenedAt } from '../rules/events.ts';
import { rowBytes } from '../rules/storage.ts';
import { type Deps, found, keyRevoked, storing } from './deps.ts';
import {
  filteredPage,
  fleetMembers,
  JsonText,
  openCursors,
  type Page,
  periodOf,
  writtenPage,
} from './paging.ts';
import { canonicalDocument } from './tasks.ts';

/**
 * Logs an event of the robot. Repeating an id with the same content returns the stored event. Throws
 * `payload_too_large`, `id_conflict`, and `invalid_api_key` if the key ended in the meantime.
 */
export async function createEvent(deps: Deps, robot: RobotCaller, event: Body<'createEvent'>) {
  const created = {
    id: event.id ?? newId(),
    robotId: robot.id,
    keyHash: robot.keyHash,
    eventType: event.event_type,
    severity: event.severity ?? 'info',
    message: event.message ?? '',
    payload: canonicalDocument('payload', event.payload ?? {}, limits.payloadBytes),
    occurredAt: utcOf(event.occurred_at),
    createdAt: deps.clock.now(),
  };
  const bytes = rowBytes(created.message, created.payload);
  const result = await storing(deps, robot, bytes, () => deps.store.createEvent(created));
  switch (result.outcome) {
    case 'created':
    case 'repeated':
      deps.store.changed(robot.wallet, { event: created.id, robot: robot.id });
      return { event: viewEvent(result.event) };
    case 'id_conflict':
      throw wireError('id_conflict', 'The event id is already used with other content.');
    case 'key_revoked':
      throw keyRevoked();
  }
}

/**
 * One page of the account's events, newest first. Throws `not_found`, also for a robot of another account, and
 * `invalid_request` for a cursor of another list.
 */
export async function listEvents(
  { store }: Pick<Deps, 'store'>,
  wallet: string,
  query: Query<'listEvents'>,
): Promise<JsonText<Page<OpsEvent>>> {
  const filter = {
    wallet,
    robotId: query.robot_id ?? null,
    severity: query.severity ?? null,
    eventType: query.event_type ?? null,
  };
  const { from, to } = periodOf(query);
  const isMember = await fleetMembers({ store }, wallet, query.fleet_id);
  const cursors = await openCursors(store, 'events', wallet);
  const begin = cursors.seqOf(query.cursor);
  const page = await filteredPage<EventRecord, JsonText<OpsEvent>>({
    limit: query.limit,
    isFiltered: [query.fleet_id, query.from, query.to].some((filter) => filter !== undefined),
    async find(limit, last) {
      const before = last?.seq ?? begin;
      return found('robot', await store.listEvents(filter, { limit, before }));
    },
    keeps(event) {
      const at = happenedAt(event);
      return isMember(event.robotId) && at >= from && at < to;
    },
    // None happened after it was received.
    isPast: ({ createdAt }) => createdAt < from,
    cursorOf: ({ seq }) => cursors.cursorOf(seq),
    view: eventText,
  });
  return writtenPage(page);
}

function viewEvent(event: EventRecord): OpsEvent {
  return { ...membersOf(event), payload: JSON.parse(event.payload) };
}

/** The payload is JSON already. */
function eventText(event: EventRecord): JsonText<OpsEvent> {
  const members = JSON.stringify(membersOf(event)).slice(0, -1);
  return new JsonText(`${members},"payload":${event.payload}}`);
}

function membersOf(event: EventRecord): Omit<OpsEvent, 'payload'> {
  return {
    id: event.id,
    robot_id: event.robotId,
    event_type: event.eventType,
    severity: event.severity,
    message: event.message,
    occurred_at: event.occurredAt,
    created_at: formatTimestamp(event.createdAt),
  };
}
