// What the use cases ask of the store about ops events.
import type { Severity } from '../../protocol/telemetry.ts';

export interface NewEvent {
  id: string;
  robotId: string;
  /** Of the key that the call came with; see `RobotCaller`. */
  keyHash: string;
  eventType: string;
  severity: Severity;
  message: string;
  /** Canonical JSON of an object. */
  payload: string;
  /** As the robot gave it. */
  occurredAt: string | null;
  createdAt: number;
}

export interface EventRecord extends Omit<NewEvent, 'keyHash'> {
  /** Order of arrival. */
  seq: number;
}

export interface EventFilter {
  wallet: string;
  robotId: string | null;
  severity: Severity | null;
  eventType: string | null;
}

export interface EventStore {
  /**
   * An event is (robot, `id`). `repeated`: it is there with the same content, and nothing was written
   * but `lastSeenAt`. `id_conflict`: it is there with other content. `key_revoked` as for samples.
   */
  createEvent(
    event: NewEvent,
  ): Promise<
    | { outcome: 'created' | 'repeated'; event: EventRecord }
    | { outcome: 'id_conflict' | 'key_revoked' }
  >;
  /** Newest first; `before` is the last `seq` of the page before. Null where the account has no such robot. */
  listEvents(
    filter: EventFilter,
    page: { limit: number; before: number | null },
  ): Promise<EventRecord[] | null>;
}
