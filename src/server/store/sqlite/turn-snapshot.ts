import type { Database } from 'better-sqlite3';

export interface TurnSnapshot {
  /** Call before a read. */
  enter(): void;
  /** Call after each commit of this process, and before the log is emptied: the next read sees what is there then. */
  leave(): void;
}

/**
 * The reads of one turn of the event loop share a transaction, and so see one state: to begin and end one takes the
 * system's locks, which costs more than most reads.
 */
export function turnSnapshot(reader: Database): TurnSnapshot {
  const begin = reader.prepare('BEGIN');
  const end = reader.prepare('COMMIT');

  function leave(): void {
    if (reader.open && reader.inTransaction) end.run();
  }

  return {
    enter() {
      if (reader.inTransaction) return;
      begin.run();
      setImmediate(leave);
    },
    leave,
  };
}
