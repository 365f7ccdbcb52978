// Lists the tables that a move from SQLite to PostgreSQL copies, and compares rows of both.

/** The store that the rows come from. */
export interface TransferSource {
  /** True if it was marked before: an earlier move to the same target may have succeeded. */
  wasMarked: boolean;
  /** The columns of a table. */
  columnsOf(name: string): string[];
  /** All rows of a table in the order of its key, in pages. */
  pages(table: TransferTable, most: PageSize): Iterable<TransferRow[]>;
  /**
   * Marks the database as moved, durably. Call it before the commit of the target: from then on only another move to
   * the same target opens the database.
   */
  markExported(): void;
  takeBackMark(): void;
}

/** A table that exists in both databases. */
export interface TransferTable {
  name: string;
  /** The key columns. Rows are ordered by them, bytewise, the same in both databases. */
  key: readonly string[];
  /** The columns that both databases have, those of the key first. */
  columns: readonly string[];
}

/**
 * All data of a service; a table comes after the tables it refers to. Not listed: rate counters of the running minute,
 * open challenges with their key, and tables that only one of the stores has.
 */
export const transferTables: readonly string[] = `
  accounts sessions audit_log cli_codes cursor_key fleets robots robot_keys statements tasks
  tombstones robot_tombstones task_counts ledger completions queue_round proof_hashes proofs
  attempts anchor_spend variants chain_proofs leaves assignments free_leaves receipts chain_identity
  chain_status leases anchoring_accounts restoration checked_time reconciled_senders foreign_nonces
  telemetry telemetry_rollups telemetry_horizons events webhooks webhook_deliveries alert_rules
  alerts alert_watch activity_hours anchor_days robot_traces storage_usage`
  .trim()
  .split(/\s+/);

/** Columns that one database has for itself. Every other column must be in both, or a move would lose it. */
export const ownColumns: ReadonlySet<string> = new Set([
  'leaves.id',
  'proofs.id',
  'proofs.key_id',
  'completions.offered_to',
  'completions.offered_until',
]);

/** The values of a row, in the order of the table's columns. Whole numbers may be text. */
export type TransferRow = readonly (string | number | boolean | Buffer | null)[];

/** Limits of a page of rows. A page always has one row, however large that is. */
export interface PageSize {
  rows: number;
  bytes: number;
}

/** The approximate size of the row, in bytes. */
export function sizeOf(row: TransferRow): number {
  return row.reduce<number>((sum, value) => {
    const isLong = typeof value === 'string' || Buffer.isBuffer(value);
    return sum + (isLong ? value.length : 8);
  }, 0);
}

/** A text for comparison: equal for equal content, whichever database the row comes from. */
export function rowText(row: TransferRow): string {
  return JSON.stringify(row.map(valueText));
}

function valueText(value: TransferRow[number]): string | null {
  if (value === null) return null;
  if (Buffer.isBuffer(value)) return value.toString('hex');
  return typeof value === 'boolean' ? String(Number(value)) : String(value);
}
