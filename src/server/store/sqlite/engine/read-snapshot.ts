// Shares one snapshot of durable commits among the reads of a turn of the event loop.

import type { Database } from 'better-sqlite3';
import type { Awaitable } from '../../db/database.ts';
import { settled } from './tx.ts';

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
  let running = 0;
  let reading: Promise<void> | null = null;
  let endReading = () => {};

  /** Ends the snapshot; the next read sees the newest state. Call it when a commit is durable and before a purge. */
  function leave(): void {
    held = false;
    if (reader.open && reader.inTransaction) end.run();
  }

  /** Opens the snapshot if needed. */
  function enter(): void {
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
  }

  function ended(): void {
    running -= 1;
    if (running > 0) return;
    reading = null;
    endReading();
  }

  return {
    /** Runs a read, which awaits nothing but its statements. */
    async read<Result>(work: () => Awaitable<Result>): Promise<Result> {
      enter();
      running += 1;
      reading ??= new Promise((resolve) => {
        endReading = resolve;
      });
      try {
        return await settled(work);
      } finally {
        ended();
      }
    },
    /** Resolves when the running reads end; `null` if none runs. Until then, do not call `hold` and `leave`. */
    get reading(): Promise<void> | null {
      return reading;
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
