// The store's contract for samples and statistics.
import type { Resolution, Severity } from '../../protocol/telemetry.ts';

/*
 * Conventions: store.ts. Hourly and daily counts of an account or a fleet include a robot's activity by the account and
 * fleet that the robot is in at the commit.
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
  /** SHA-256 of the API key of the call; see `RobotCaller`. */
  keyHash: string;
  samples: readonly SampleRecord[];
  now: number;
}

/** A time range: `from` inclusive, `to` exclusive. */
export interface TimeRange {
  from: number;
  to: number;
}

/** A robot, which is visible only under its own account. */
export interface RobotOfAccount {
  wallet: string;
  robotId: string;
}

/** Length of an interval. Intervals begin at multiples of it (UTC). */
export const stepMs: Readonly<Record<Resolution, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/**
 * The readings of one number. Count, min and max are exact. The sum is rounded, and at most the largest double, so the
 * mean of numbers near that may be too close to 0.
 */
export type Spread = [count: number, min: number, max: number, sum: number];

/**
 * Summary of the samples of one interval. The keys of the maps are chosen by the callers: the first
 * `limits.seriesStates` states and `limits.seriesMetrics` metrics that arrived for the interval.
 */
export interface SampleSummary {
  samples: number;
  battery: Spread | null;
  states: Map<string, number>;
  metrics: Map<string, Spread>;
}

export interface Rollup {
  /** Start of the interval (UTC). */
  at: number;
  summary: SampleSummary;
}

export interface TelemetryStore {
  /**
   * Stores all samples or none, in one commit with the roll-ups and the robot's current values. (robot, `recordedAt`,
   * `id`) identifies a sample: one that exists with the same content is left unchanged and is not counted again.
   * `id_conflict`: the sample at `index` exists with different content. `key_revoked`: the robot or this key has ended
   * since it was authenticated.
   *
   * The robot's `lastSeenAt` never goes back. Its `batteryPct` and `state` are each the value of the newest sample that
   * had one (null counts as no value). A time beyond `now` counts as `now`; of equal times the later arrival wins.
   * `stateSince` and `batteryLowSince` are the times of the first samples with the present state and with a low
   * battery. A sample that arrives after newer ones never moves them back.
   */
  recordSamples(
    samples: NewSamples,
  ): Promise<{ outcome: 'recorded' | 'key_revoked' } | { outcome: 'id_conflict'; index: number }>;
  /** Newest first. `before` is the last sample of the previous page. Null if the account has no such robot. */
  listSamples(
    robot: RobotOfAccount,
    range: TimeRange,
    page: { limit: number; before: Pick<SampleRecord, 'recordedAt' | 'id'> | null },
  ): Promise<SampleRecord[] | null>;
  /** The first `limit` intervals that start in the range, oldest first. Null if the account has no such robot. */
  listRollups(
    robot: RobotOfAccount,
    resolution: Resolution,
    range: TimeRange,
    limit: number,
  ): Promise<Rollup[] | null>;
}

export interface HourCounts {
  at: number;
  /** Counted at the time they were recorded. */
  samples: number;
  /** Counted at the time the service received them. */
  events: Record<Severity, number>;
}

export interface DayCounts {
  at: number;
  /** Anchors settled on that day. */
  anchors: number;
  gasWei: bigint;
}

export interface StatsRecord {
  /** The last reported values of every robot. */
  robots: { lastSeenAt: number | null; batteryPct: number | null; state: string | null }[];
  tasks: { claimed: number; verified: number };
  /** Only hours and days with activity, oldest first. */
  hours: HourCounts[];
  days: DayCounts[];
}

export interface StatsStore {
  /**
   * Statistics of the account or of one of its fleets; null if the account has no such fleet. Hours and days start at
   * `hoursFrom` and `daysFrom` or later. The cost does not depend on how much was ever stored.
   */
  readStats(
    scope: { wallet: string; fleetId: string | null },
    since: { hoursFrom: number; daysFrom: number },
  ): Promise<StatsRecord | null>;
}
