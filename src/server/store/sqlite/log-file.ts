import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs';
import type { Database } from 'better-sqlite3';

export interface LogFile {
  /**
   * Resolves when all that was committed before the call is durable; the event loop goes on meanwhile. Rejects when
   * nobody can say what is: disk or file cannot be trusted any more.
   */
  flush(): Promise<void>;
  close(): void;
}

/**
 * The write-ahead log of a database that is open: SQLite keeps the file as long as a connection is. Flushed here once:
 * a process that was killed may have left commits in it that are not durable yet.
 */
export function openLogFile({ name }: Database): LogFile {
  const file = openSync(`${name}-wal`, 'r+');
  fdatasyncSync(file);
  return {
    flush: () =>
      new Promise((resolve, reject) => {
        fdatasync(file, (error) => (error === null ? resolve() : reject(error)));
      }),
    close: () => closeSync(file),
  };
}
