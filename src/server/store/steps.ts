// Store code that both databases run: generators that yield statements. The engines run them.

import type { Lease } from '../ports/anchoring.ts';

/** Sorts after every id. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Sorts before every id. */
export const NO_ID = '00000000-0000-0000-0000-000000000000';

/** Wei are texts, which both databases convert. */
export type StepValue = string | number | Buffer | null;

/** Tables that get many rows at once. A row that conflicts is left out. */
export const insertColumns = {
  ledger: 'wallet kind anchors gas_wei task_id cycle grant_id note at',
  webhook_deliveries: 'id webhook_id type data created_at',
  alerts: 'id wallet kind threshold robot_id opened_at',
  fleets: 'id wallet name description location shift tags sort_order created_at updated_at',
  robots: 'id wallet name description key_hash key_hint created_at updated_at',
  chain_proofs: 'attempt_id due_at',
  sessions: 'id token_hash wallet created_at expires_at signed_in_with name scope',
  audit_log: 'id wallet kind actor actor_name source target_id detail count at',
} as const;

type InsertTable = keyof typeof insertColumns;

export type Step =
  /** A statement of PostgreSQL, with `$1`, `$2` … for values, that SQLite understands as `sqliteTexts` translates it. */
  | { text: string; values: readonly StepValue[]; isLock?: true }
  | { insert: InsertTable; rows: readonly object[] }
  /** Serializes writes of the account. */
  | { lock: string }
  /** Serializes writes that name the same. */
  | { mutex: string };

export type Steps<Result> = Generator<Step, Result, object[]>;

/** Runs the steps on one connection. `write` runs them in a transaction, and may run them again. */
export interface StepRunner {
  read<Result>(steps: () => Steps<Result>): Promise<Result>;
  /** Reads one snapshot with all its statements. */
  snapshot<Result>(steps: () => Steps<Result>): Promise<Result>;
  write<Result>(steps: () => Steps<Result>): Promise<Result>;
  /** For the holder of a lease. Rejects with `lease_lost` unless holder and fence own the lease now. */
  leased: {
    read<Result>(lease: Lease, steps: () => Steps<Result>): Promise<Result>;
    write<Result>(lease: Lease, steps: () => Steps<Result>): Promise<Result>;
  };
  /** The time of the clock that all instances share. */
  clock(): Steps<number>;
  /** Ends the offers of queued proofs, each to one sender. SQLite makes none. */
  endOffers(taskIds: readonly string[]): Steps<unknown>;
}

/** In a statement: a condition, that the value before it is in the JSON array `$n`. PostgreSQL looks up each in an index. */
export function among(type: 'uuid' | 'text', n: number): string {
  return `= ANY (ARRAY(SELECT value::${type} FROM json_array_elements_text($${n}::json)))`;
}

/** The rows of a query, or those that a statement returns. */
export function* rows<Row extends object>(text: string, ...values: StepValue[]): Steps<Row[]> {
  return (yield { text, values }) as Row[];
}

/** The first row of a query, or of those that a statement returns. */
export function* first<Row extends object>(
  text: string,
  ...values: StepValue[]
): Steps<Row | undefined> {
  return (yield* rows<Row>(text, ...values))[0];
}

/** Locks rows or a table. SQLite skips it. */
export function* lockRows(text: string, ...values: StepValue[]): Steps<void> {
  yield { text, values, isLock: true };
}

/** Whether a statement returns a row. */
export function* some(text: string, ...values: StepValue[]): Steps<boolean> {
  return (yield* rows(text, ...values)).length > 0;
}

/** Returns the ids, which are the first column, of the rows that it stored. */
export function* insert(table: InsertTable, given: readonly object[]): Steps<string[]> {
  if (given.length === 0) return [];
  return ((yield { insert: table, rows: given }) as { id: string }[]).map(({ id }) => id);
}

export function* lock(wallet: string): Steps<void> {
  yield { lock: wallet };
}

export function* mutex(name: string): Steps<void> {
  yield { mutex: name };
}
