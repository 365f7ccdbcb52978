// What the use cases ask of the store about samples and statistics.
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
 * callers'; states and metrics are those that the day holds: `RollUpNames`.
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
   * `id_conflict`: the sample at `index` is there with other content. `key_revoked`: the robot or this very
   * key ended since it was authenticated.
   *
   * The robot's `lastSeenAt` never goes back. Its `batteryPct` and `state` are each the value of the sample
   * with the newest time that had one (a null says nothing); a time beyond `now` counts as `now`, and of
   * equal times the later arrival wins.
   */
  recordSamples(
    samples: NewSamples,
  ): Promise<{ outcome: 'recorded' | 'key_revoked' } | { outcome: 'id_conflict'; index: number }>;
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
