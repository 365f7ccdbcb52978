// Lists the tables that a move from SQLite to PostgreSQL copies, and compares rows of both.

/** The store that the rows come from. */
export interface TransferSource {
  /** True if it was marked before: an earlier move to the same target may have succeeded. */
  wasMarked: boolean;
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
  /** The columns that are not in the key. */
  columns: readonly string[];
  /** The FROM clause for SQLite, where its table differs. */
  source?: string;
}

/**
 * All data of a service; a table comes after the tables it refers to. Not listed: rate counters of the running minute,
 * open challenges with their key, and tables that only one of the stores has. Each line has the name, the key and the
 * other columns.
 */
export const transferTables: readonly TransferTable[] = `
  accounts: wallet: anchor_quota gas_credit_wei created_at qualified_at last_round suspended_at suspension_reason deleting_at
  sessions: id: token_hash wallet created_at expires_at signed_in_with wrong_codes name scope last_used_at
  audit_log: id: wallet kind actor actor_name source target_id detail count at
  cli_codes: device_hash: user_hash source name session_id created_at expires_at
  cursor_key: id: key
  fleets: id: wallet name description location shift tags sort_order created_at updated_at
  robots: id: wallet name description fleet_id key_hash key_hint created_at updated_at last_seen_at battery_pct battery_at battery_since state state_at state_since sample_lag clock_behind proposed_key signs
  robot_keys: kid: robot_id place public_key first_number last_number grant_text grant_signature granted_at revocation_text revocation_signature revoked_at
  statements: kid number place: robot_id type epoch signed_hash statement_hash statement task_id received_at
  tasks: id: robot_id wallet title description expected_result occurred_at created_at status credit_refused_at
  tombstones: task_id: deleted_at
  robot_tombstones: robot_id: deleted_at
  task_counts: robot_id: claimed verified
  ledger: seq: wallet kind anchors gas_wei task_id cycle grant_id note at
  completions: task_id: state proof_hash claim_hash leaf cycle generation reserve_seq round queued_at updated_at failure statement_hash outcome
  queue_round: id: round
  proof_hashes: proof_hash: occurrences
  proofs: task_id: key sealed stored_at
  attempts: id: chain_id sender nonce state payload root leaf_count free_leaf_count unsettled_leaves safe created_at updated_at mined_tx_hash mined_block_number mined_block_hash mined_tx_index mined_at gas_used effective_gas_price data_fee_wei cost_wei
  anchor_spend: attempt_id: at wei
  variants: tx_hash: attempt_id seq raw_tx max_fee_per_gas max_priority_fee_per_gas created_at adopted
  chain_proofs: attempt_id: due_at tries header nodes
  leaves: attempt_id leaf_index: task_id leaf path generation live settled_at
  assignments: attempt_id: chain_id sender
  free_leaves: leaf: rank created_at attempt_id leaf_index
  receipts: seq: task_id proof_hash attempt_id leaf_index
  chain_identity: id: chain_id genesis_hash block_number
  chain_status: id: single_gas base_fee_per_gas max_priority_fee_per_gas data_fee_wei degraded updated_at
  leases: chain_id address: holder fence expires_at degraded parked balance_wei needed_wei
  anchoring_accounts: chain_id address: first_block last_block changed_in origin signature promise_key
  restoration: id: restored_at
  checked_time: id: checked_at confirmations
  reconciled_senders: chain_id address: reconciled_at
  foreign_nonces: chain_id sender nonce: tx_hash recorded_at
  telemetry: robot_id recorded_at id: battery_pct state metrics
  telemetry_rollups: robot_id resolution at: samples battery states metrics
  telemetry_horizons: robot_id: before
  events: seq: robot_id id event_type severity message payload occurred_at created_at
  webhooks: id: wallet url events secret old_secret old_until created_at failures failing_since next_at disabled_at disabled_for last_number stored_bytes missing_from funded
  webhook_deliveries: id: webhook_id type data state created_at number attempts last_status last_error attempted_at
  alert_rules: wallet kind: threshold states
  alerts: id: wallet kind threshold robot_id opened_at acknowledged_at closed_at
  alert_watch: id: evaluated_at since
  activity_hours: scope at: samples info warn error
  anchor_days: scope at: anchors gas_wei
  robot_traces: robot_id: wallet
  storage_usage: wallet: bytes
`
  .trim()
  .split('\n')
  .map(toTable);

export function columnsOf({ key, columns }: TransferTable): string[] {
  return [...key, ...columns];
}

/** The values of a row, in the order of `columnsOf`. Whole numbers may be text. */
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

function toTable(line: string): TransferTable {
  const [name = '', key = '', columns = ''] = line.trim().split(': ');
  const table = { name, key: key.split(' '), columns: columns.split(' ') };
  // SQLite keeps the keys of the evidence in a table of their own.
  if (name !== 'proofs') return table;
  return { ...table, source: 'proofs JOIN proof_keys ON proof_keys.id = proofs.key_id' };
}

function valueText(value: TransferRow[number]): string | null {
  if (value === null) return null;
  if (Buffer.isBuffer(value)) return value.toString('hex');
  return typeof value === 'boolean' ? String(Number(value)) : String(value);
}
