// Store code that both databases run: generators that yield statements. The engines run them.

export type StepValue = string | number | Buffer | null;

/** Tables that get many rows at once. A row that conflicts is left out. */
export const insertColumns = {
  webhook_deliveries: 'id webhook_id type data created_at',
  alerts: 'id wallet kind threshold robot_id opened_at',
  audit_log: 'id wallet kind actor actor_name source target_id detail count at',
} as const;

type InsertTable = keyof typeof insertColumns;

export type Step =
  /** A statement that both databases understand, with `$1`, `$2` … for values. */
  | { text: string; values: readonly StepValue[] }
  | { insert: InsertTable; rows: readonly object[] }
  /** Serializes writes of the account. */
  | { lock: string };

export type Steps<Result> = Generator<Step, Result, object[]>;

/** Runs the steps on one connection. `write` runs them in a transaction, and may run them again. */
export interface StepRunner {
  read<Result>(steps: () => Steps<Result>): Promise<Result>;
  write<Result>(steps: () => Steps<Result>): Promise<Result>;
}

/** The rows of a query, or those that a statement returns. */
export function* rows<Row extends object>(text: string, ...values: StepValue[]): Steps<Row[]> {
  return (yield { text, values }) as Row[];
}

/** Returns the ids of the rows that it stored. */
export function* insert(table: InsertTable, given: readonly object[]): Steps<string[]> {
  if (given.length === 0) return [];
  return ((yield { insert: table, rows: given }) as { id: string }[]).map(({ id }) => id);
}

export function* lock(wallet: string): Steps<void> {
  yield { lock: wallet };
}
