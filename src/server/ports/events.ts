// The store's contract for ops events.
import type { Severity } from '../../protocol/telemetry.ts';

export interface NewEvent {
  id: string;
  robotId: string;
  /** SHA-256 of the API key of the call; see `RobotCaller`. */
  keyHash: string;
  eventType: string;
  severity: Severity;
  message: string;
  /** Canonical JSON of an object. */
  payload: string;
  /** The time stated by the robot, unchanged. */
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
   * Stores an event; (robot, `id`) identifies it. `repeated`: it exists with the same content, and only `lastSeenAt`
   * was written. `id_conflict`: it exists with different content. `key_revoked`: as in `recordSamples`.
   */
  createEvent(
    event: NewEvent,
  ): Promise<
    | { outcome: 'created' | 'repeated'; event: EventRecord }
    | { outcome: 'id_conflict' | 'key_revoked' }
  >;
  /** Newest first. `before` is the last `seq` of the previous page. Null if the account has no such robot. */
  listEvents(
    filter: EventFilter,
    page: { limit: number; before: number | null },
  ): Promise<EventRecord[] | null>;
}
