import type { Database } from 'better-sqlite3';

/*
 * A held queue is the one reason that the chain status has of its own; senders keep theirs at their leases.
 * Nothing but `liftHold` takes it away.
 */

const REASON = 'restored';

export function holdReader(db: Database): () => boolean {
  const reason = db.prepare<[string]>(
    'SELECT 1 FROM chain_status, json_each(chain_status.degraded) WHERE json_each.value = ?',
  );
  return () => reason.get(REASON) !== undefined;
}

/** Ends every lease and lets nobody take one. Runs inside a transaction of the caller. */
export function holdQueue(db: Database, now: number): void {
  saveReasons(db, [REASON], now);
  db.exec('UPDATE leases SET holder = NULL, expires_at = 0');
}

export function liftHold(db: Database, now: number): void {
  if (holdReader(db)()) saveReasons(db, [], now);
}

function saveReasons(db: Database, reasons: string[], now: number): void {
  db.prepare(
    `INSERT INTO chain_status (id, degraded, updated_at) VALUES (1, ?, ?)
     ON CONFLICT (id) DO UPDATE SET degraded = excluded.degraded, updated_at = excluded.updated_at`,
  ).run(JSON.stringify(reasons), now);
}
