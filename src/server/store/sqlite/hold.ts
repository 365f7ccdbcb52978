import type { Database } from 'better-sqlite3';
import type { SenderKey } from '../../core/operations-store.ts';

/*
 * A restored database may not know what was anchored after its backup, by whichever account. So every
 * sender is held, also one that comes later, until it was held against the chain itself. That is the one
 * reason that the chain status has of its own; senders keep theirs at their leases.
 */

const REASON = 'restored';

export function holdReader(db: Database): (sender: SenderKey) => boolean {
  const held = db.prepare<[number, string]>(
    `SELECT 1 FROM restoration WHERE id = 1 AND NOT EXISTS
       (SELECT 1 FROM reconciled_senders WHERE chain_id = ? AND address = ?)`,
  );
  return ({ chainId, address }) => held.get(chainId, address) !== undefined;
}

/** Ends every lease and holds every sender. Runs inside a transaction of the caller. */
export function holdQueue(db: Database, now: number): void {
  db.prepare(
    `INSERT INTO restoration VALUES (1, ?)
     ON CONFLICT (id) DO UPDATE SET restored_at = excluded.restored_at`,
  ).run(now);
  db.exec(`
    DELETE FROM reconciled_senders;
    UPDATE leases SET holder = NULL, expires_at = 0;
  `);
  showHold(db, now);
}

export function showHold(db: Database, now: number): void {
  if (!isShown(db)) saveReasons(db, [REASON], now);
}

/** Runs inside a transaction of the caller. */
export function liftHold(db: Database, senders: readonly SenderKey[], now: number): void {
  if (db.prepare('SELECT 1 FROM restoration WHERE id = 1').get() === undefined) return;
  const lift = db.prepare(
    `INSERT INTO reconciled_senders VALUES (?, ?, ?)
     ON CONFLICT (chain_id, address) DO UPDATE SET reconciled_at = excluded.reconciled_at`,
  );
  for (const { chainId, address } of senders) lift.run(chainId, address, now);
  if (isShown(db)) saveReasons(db, [], now);
}

function isShown(db: Database): boolean {
  const reason = db.prepare<[string]>(
    'SELECT 1 FROM chain_status, json_each(chain_status.degraded) WHERE json_each.value = ?',
  );
  return reason.get(REASON) !== undefined;
}

function saveReasons(db: Database, reasons: string[], now: number): void {
  db.prepare(
    `INSERT INTO chain_status (id, degraded, updated_at) VALUES (1, ?, ?)
     ON CONFLICT (id) DO UPDATE SET degraded = excluded.degraded, updated_at = excluded.updated_at`,
  ).run(JSON.stringify(reasons), now);
}
