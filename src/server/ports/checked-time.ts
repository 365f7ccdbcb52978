// The store's contract for the checked time: the last wall-clock time that was accepted.
import type { Actor } from './account.ts';

export interface AcceptedTime {
  /** The checked time when it was saved. */
  readonly acceptedAt: number;
  /** How often an operator confirmed a clock. */
  readonly confirmations: number;
}

export interface CheckedTimeStore {
  /** Null in a new database. */
  readAcceptedTime(): Promise<AcceptedTime | null>;
  /** Saves an accepted time, unless an operator has confirmed another one since `confirmations` was read. */
  saveAcceptedTime(time: AcceptedTime): Promise<void>;
  /** Accepts `now` because an operator says so. The audit log of each account gets an entry. */
  confirmTime(now: number, by: Actor): Promise<void>;
}
