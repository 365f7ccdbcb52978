import { closeSync, fdatasync, fdatasyncSync, fsyncSync, openSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Database } from 'better-sqlite3';

/** How old a look at the disk may be. */
const MAX_AGE_MS = 1_000;

/**
 * Tells whether the disk of the database has that many bytes free for a user without privileges; one look
 * a second at most. A disk that cannot be asked counts as roomy: the writes will tell.
 */
export function watchDisk(
  databasePath: string,
  minFreeBytes: number,
  freeBytes = freeBytesOf,
): () => Promise<boolean> {
  const folder = path.dirname(databasePath);
  let look: { at: number; roomy: Promise<boolean> } | null = null;
  return () => {
    const now = performance.now();
    if (look === null || now - look.at > MAX_AGE_MS) {
      const roomy = freeBytes(folder).then(
        (free) => free >= minFreeBytes,
        () => true,
      );
      look = { at: now, roomy };
    }
    return look.roomy;
  };
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

export function syncFile(file: string): void {
  const handle = openSync(file, 'r+');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

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
