import type { Database } from 'better-sqlite3';

export interface ReadSnapshot {
  /** Call before a read. */
  enter(): void;
  /** Call before a commit: reads go on seeing what is there now until `leave`. */
  hold(): void;
  /** Call when what was committed is durable, and before the log is emptied: the next read sees what is there then. */
  leave(): void;
}

/**
 * The reads of one turn of the event loop share a transaction, and so see one state: to begin and end one takes the
 * system's locks, which costs more than most reads. What is not durable yet nobody may be told of: while a commit is
 * flushed, reads share the transaction that began before it.
 */
export function readSnapshot(reader: Database): ReadSnapshot {
  const begin = reader.prepare('BEGIN');
  const fix = reader.prepare('SELECT 1 FROM sqlite_schema LIMIT 1');
  const end = reader.prepare('COMMIT');
  let held = false;

  function leave(): void {
    held = false;
    if (reader.open && reader.inTransaction) end.run();
  }

  return {
    enter() {
      if (reader.inTransaction) return;
      begin.run();
      setImmediate(() => {
        if (!held) leave();
      });
    },
    hold() {
      leave();
      begin.run();
      fix.get();
      held = true;
    },
    leave,
  };
}
