import type { Resolution, Severity } from '../../protocol/telemetry.ts';

/*
 * Telemetry, events and statistics. Conventions as in ports.ts: instants in milliseconds, amounts in wei,
 * every promise of a write resolves only after the write is durable. What a robot's account or fleet sees
 * by hour and day is counted for the account and the fleet that the robot is in at the commit.
 */

export interface SampleRecord {
  id: string;
  recordedAt: number;
  batteryPct: number | null;
  state: string | null;
  /** Canonical JSON of an object. */
  metrics: string;
}

export interface NewSamples {
  robotId: string;
  /** Of the key that the call came with; see `RobotCaller`. */
  keyHash: string;
  samples: SampleRecord[];
  now: number;
}

/** Samples recorded at `from` or later and before `to`. */
export interface TimeRange {
  from: number;
  to: number;
}

/** A robot is found under its own account only. */
export interface RobotOfAccount {
  wallet: string;
  robotId: string;
}

/** How long an interval is; it begins at a multiple of that (UTC). */
export const stepMs: Readonly<Record<Resolution, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** Of one number over some readings. */
export interface Spread {
  count: number;
  min: number;
  max: number;
  mean: number;
}

/**
 * What the samples of one interval say, in whatever order they came. Maps, because the names are the
 * callers'; states and metrics are those that the day holds: `DayNames`.
 */
export interface SampleSummary {
  samples: number;
  battery: Spread | null;
  states: Map<string, number>;
  metrics: Map<string, Spread>;
}

export interface Rollup {
  /** Begin of the interval (UTC). */
  at: number;
  summary: SampleSummary;
}

export interface TelemetryStore {
  /**
   * All or nothing, in one commit with the roll-ups and what the robot shows. A sample is (robot,
   * `recordedAt`, `id`): one that is there with the same content is left as it is and counted nowhere.
   * `id_conflict`: the sample at `index` is there with other content. `robot_gone`: the robot or this very
   * key ended since it was authenticated.
   *
   * The robot's `lastSeenAt` never goes back. Its `batteryPct` and `state` are each the value of the sample
   * with the newest time that had one (a null says nothing); a time beyond `now` counts as `now`, and of
   * equal times the later arrival wins.
   */
  recordSamples(
    samples: NewSamples,
  ): Promise<{ outcome: 'recorded' | 'robot_gone' } | { outcome: 'id_conflict'; index: number }>;
  /** Newest first; `before` is the last of the page before. Null where the account has no such robot. */
  listSamples(
    robot: RobotOfAccount,
    range: TimeRange,
    page: { limit: number; before: Pick<SampleRecord, 'recordedAt' | 'id'> | null },
  ): Promise<SampleRecord[] | null>;
  /**
   * The first `limit` intervals that begin in the range, oldest first. Null where the account has no such
   * robot.
   */
  listRollups(
    robot: RobotOfAccount,
    resolution: Resolution,
    range: TimeRange,
    limit: number,
  ): Promise<Rollup[] | null>;
}

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
   * but `lastSeenAt`. `id_conflict`: it is there with other content. `robot_gone` as for samples.
   */
  createEvent(
    event: NewEvent,
  ): Promise<
    | { outcome: 'created' | 'repeated'; event: EventRecord }
    | { outcome: 'id_conflict' | 'robot_gone' }
  >;
  /** Newest first; `before` is the last `seq` of the page before. Null where the account has no such robot. */
  listEvents(
    filter: EventFilter,
    page: { limit: number; before: number | null },
  ): Promise<EventRecord[] | null>;
}

export interface HourCounts {
  at: number;
  /** By when they were recorded. */
  samples: number;
  /** By when the service took them. */
  events: Record<Severity, number>;
}

export interface DayCounts {
  at: number;
  /** Settled on that day. */
  anchors: number;
  gasWei: bigint;
}

export interface StatsRecord {
  /** What every robot showed last. */
  robots: { lastSeenAt: number | null; batteryPct: number | null; state: string | null }[];
  tasks: { claimed: number; verified: number };
  /** Only hours and days in which something was counted, oldest first. */
  hours: HourCounts[];
  days: DayCounts[];
}

export interface StatsStore {
  /**
   * Of the account, or of one of its fleets; null where the account has no such fleet. Hours and days begin
   * at `hoursFrom` and `daysFrom` or later. Its cost does not depend on how much was ever stored.
   */
  readStats(
    scope: { wallet: string; fleetId: string | null },
    since: { hoursFrom: number; daysFrom: number },
  ): Promise<StatsRecord | null>;
}

/**
 * What is deleted in small steps; each step is a short commit of its own, of at least one row. Roll-ups by hour
 * and day stay.
 */
export interface RetentionStore {
  /**
   * Deletes at most `limit` samples recorded before that time, of the next robot after `cursor` that has
   * any, and the roll-ups of the minutes before the oldest one that is left. Answers the cursor of the next
   * step, null when there is nothing left to do.
   */
  deleteSamples(before: number, limit: number, cursor: string | null): Promise<string | null>;
  /**
   * Deletes at most `limit` of the oldest events that the service took before that time; answers whether there
   * may be more.
   */
  deleteEvents(before: number, limit: number): Promise<boolean>;
  /** Deletes at most `limit` samples, roll-ups or events of deleted robots; answers whether there may be more. */
  deleteTraces(limit: number): Promise<boolean>;
}
