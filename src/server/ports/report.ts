// The store's contract for reports over a period.

import type { NewCompletion } from './completions.ts';
import type { EventRecord } from './events.ts';
import type { TaskRecord } from './tasks.ts';
import type { Rollup, TimeRange } from './telemetry.ts';

/** An hour of a robot with samples. */
export type ReportedHour = Pick<Rollup, 'at'> & Pick<Rollup['summary'], 'samples' | 'states'>;

/** An error event, without its message and payload. */
export type ErrorRecord = Pick<EventRecord, 'seq' | 'eventType' | 'occurredAt' | 'createdAt'>;

export type ClaimRecord = Pick<TaskRecord, 'id' | 'robotId' | 'createdAt'> &
  Pick<NewCompletion, 'outcome'>;

/** A settled anchor. `robotId` is null if the task was deleted. */
export interface ChargeRecord {
  seq: number;
  at: number;
  costWei: bigint;
  robotId: string | null;
}

/** The next rows of a list: those after `last`; null begins it. */
export interface Next<Row> {
  limit: number;
  last: Row | null;
}

export interface ReportStore {
  /** Oldest first. The caller has checked that the robot is the account's. */
  listReportedHours(
    robotId: string,
    range: TimeRange,
    next: Next<ReportedHour>,
  ): Promise<ReportedHour[]>;
  /** Newest first. The caller has checked that the robot is the account's. */
  listErrors(robotId: string, next: Next<ErrorRecord>): Promise<ErrorRecord[]>;
  /** Tasks of this status that were claimed in the range, oldest first. */
  listClaims(
    of: { wallet: string; status: TaskRecord['status'] },
    range: TimeRange,
    next: Next<ClaimRecord>,
  ): Promise<ClaimRecord[]>;
  /** Anchors that were settled in the range, oldest first. */
  listCharges(wallet: string, range: TimeRange, next: Next<ChargeRecord>): Promise<ChargeRecord[]>;
}
