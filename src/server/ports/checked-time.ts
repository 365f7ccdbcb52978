// The store's contract for the checked time, which continues from where it was when the server starts again.
import type { Actor } from './account.ts';

export interface CheckedTime {
  /** The checked time when it was saved. */
  readonly checkedAt: number;
  /** How often an operator confirmed a clock. */
  readonly confirmations: number;
}

export interface CheckedTimeStore {
  /** Null in a new database. */
  readCheckedTime(): Promise<CheckedTime | null>;
  /** Does nothing if an operator has confirmed a clock since `confirmations` was read. */
  saveCheckedTime(time: CheckedTime): Promise<void>;
  /** Sets the checked time because an operator confirms it. The audit log of each account gets an entry. */
  confirmTime(now: number, by: Actor): Promise<void>;
}
