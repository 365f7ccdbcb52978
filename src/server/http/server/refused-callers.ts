// Counts refused calls by caller, for the operator.

import type { Clock } from '../../../base/clock.ts';
import { SvcError } from '../../../base/svc-error.ts';
import type { ErrorCode } from '../../../protocol/errors.ts';

const HOUR_MS = 60 * 60_000;
/** Strangers choose their addresses, so the rest of an hour's callers are not counted. */
const CALLERS = 10_000;
const LISTED = 100;

/** Whether an error says that the caller has used up what it may have. */
export function isRefusal(error: unknown): error is SvcError<ErrorCode> {
  return error instanceof SvcError && codes.has(error.code);
}

const codes: ReadonlySet<string> = new Set([
  'account_suspended',
  'no_anchor_quota',
  'no_gas_credit',
  'overloaded',
  'rate_limited',
  'storage_quota',
]);

/** Counts of this hour and the one before, on this instance. */
export class RefusedCallers {
  readonly #clock: Clock;
  #startedAt: number;
  #now = new Map<string, number>();
  #before = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock.now();
  }

  /** `caller`: a wallet, or the prefix of an address. */
  add(caller: string): void {
    this.#turn();
    const count = this.#now.get(caller);
    if (count === undefined && this.#now.size >= CALLERS) return;
    this.#now.set(caller, (count ?? 0) + 1);
  }

  /** Most refused first. `since`: when the counts began. */
  list(): { since: number; items: { caller: string; refused: number }[] } {
    this.#turn();
    const sums = new Map(this.#before);
    for (const [caller, count] of this.#now) sums.set(caller, (sums.get(caller) ?? 0) + count);
    const items = [...sums]
      .map(([caller, refused]) => ({ caller, refused }))
      .sort((a, b) => b.refused - a.refused)
      .slice(0, LISTED);
    return { since: this.#startedAt - (this.#before.size > 0 ? HOUR_MS : 0), items };
  }

  #turn(): void {
    const age = this.#clock.now() - this.#startedAt;
    if (age < HOUR_MS && age >= 0) return;
    this.#before = age < 2 * HOUR_MS ? this.#now : new Map();
    this.#now = new Map();
    this.#startedAt = this.#clock.now();
  }
}
