// Inserts many rows at once, and names what rows have in common.

import type { Tx } from './database.ts';
import { perDialect, raw, type Sql, sql } from './sql.ts';

/** Sorts after every id. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Sorts before every id. */
export const NO_ID = '00000000-0000-0000-0000-000000000000';

/** The members of a record as a row has them: wei as decimal texts. */
export type InText<Members> = {
  [Member in keyof Members]: Members[Member] extends bigint ? string : Members[Member];
};

/** The columns of tables that get many rows at once. `insertNew` returns the first one. */
export const insertColumns = {
  ledger: 'wallet kind anchors gas_wei task_id cycle grant_id note at',
  webhook_deliveries: 'id webhook_id type data created_at number',
  alerts: 'id wallet kind threshold robot_id opened_at',
  fleets: 'id wallet name description location shift tags sort_order created_at updated_at',
  robots: 'id wallet name description key_hash key_hint created_at updated_at',
  chain_proofs: 'attempt_id due_at',
  sessions: 'id token_hash wallet created_at expires_at signed_in_with name scope',
  audit_log: 'id wallet kind actor actor_name source target_id detail count at',
} as const;

type Table = keyof typeof insertColumns;

/** Stores what does not conflict with a stored row. Returns the first column of what it stored. */
export async function insertNew(tx: Tx, table: Table, rows: readonly object[]): Promise<string[]> {
  if (rows.length === 0) return [];
  const stored = await tx.all<{ id: string }>(insertion(table, JSON.stringify(rows)));
  return stored.map(({ id }) => id);
}

function insertion(table: Table, json: string): Sql {
  const names = insertColumns[table].split(' ');
  const [key = ''] = names;
  return sql`INSERT INTO ${raw(`${table} (${names.join(', ')})`)}
    ${perDialect({
      sqlite: sql`SELECT ${raw(names.map((name) => `value ->> '${name}'`).join(', '))}
        FROM json_each(${json}) WHERE true`,
      postgres: sql`SELECT ${raw(names.join(', '))}
        FROM jsonb_populate_recordset(NULL::${raw(table)}, ${json})`,
    })}
    ON CONFLICT DO NOTHING RETURNING ${raw(key)} AS id`;
}
