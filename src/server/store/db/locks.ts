// Locks that writes take on PostgreSQL. SQLite has one writer, so nothing needs locks there.

import { onPostgres } from './dialect.ts';
import { sql } from './sql.ts';
import type { Tx } from './tx.ts';

/** Serializes writes of the account. */
export async function lockAccount(tx: Tx, wallet: string): Promise<void> {
  await tx.run(onPostgres(sql`SELECT FROM accounts WHERE wallet = ${wallet} FOR NO KEY UPDATE`));
}

/** Serializes writes that name the same. */
export async function lockName(tx: Tx, name: string): Promise<void> {
  await tx.run(onPostgres(sql`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 0))`));
}
