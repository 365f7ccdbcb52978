// Gives the reads of one turn of the event loop one shared snapshot, of durable commits only.

import type { Database } from 'better-sqlite3';

export type ReadSnapshot = ReturnType<typeof readSnapshot>;

/**
 * Reads of one turn share a transaction, because its begin and end take file locks, which cost more than most reads.
 * While a commit is being flushed, reads keep the transaction from before it: a client must never see a write that a
 * power failure could still undo. `onFatal` is called when the snapshot cannot be ended, as on a malformed database.
 */
export function readSnapshot(reader: Database, onFatal: (error: Error) => void) {
  const begin = reader.prepare('BEGIN');
  const fix = reader.prepare('SELECT 1 FROM sqlite_schema LIMIT 1');
  const end = reader.prepare('COMMIT');
  let held = false;

  /** Ends the snapshot; the next read sees the newest state. Call it when a commit is durable and before a purge. */
  function leave(): void {
    held = false;
    if (reader.open && reader.inTransaction) end.run();
  }

  return {
    /** Opens the snapshot if needed. Call it before each read. */
    enter(): void {
      if (reader.inTransaction) return;
      begin.run();
      setImmediate(() => {
        if (held) return;
        try {
          leave();
        } catch (error) {
          onFatal(error instanceof Error ? error : new Error(String(error)));
        }
      });
    },
    /** Pins the current state for reads until `leave`. Call it before a commit. */
    hold(): void {
      leave();
      begin.run();
      fix.get();
      held = true;
    },
    leave,
  };
}
