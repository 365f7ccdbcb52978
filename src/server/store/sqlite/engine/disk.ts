// Watches free disk space, and flushes files, folders and the write-ahead log.

import { closeSync, fdatasync, fdatasyncSync, fsyncSync, openSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Database } from 'better-sqlite3';

/** The maximum age of a reading of the free space. */
const MAX_AGE_MS = 1_000;

/**
 * Answers whether the database's disk has `times` `minFreeBytes` free for an unprivileged user. Reads the disk once a
 * second at most. If reading fails, it answers true: a full disk then shows in failing writes.
 */
export function watchDisk(databasePath: string, minFreeBytes: number, freeBytes = freeBytesOf) {
  const folder = path.dirname(databasePath);
  let reading: { at: number; free: Promise<number> } | null = null;
  return async (times = 1) => {
    const now = performance.now();
    if (reading === null || now - reading.at > MAX_AGE_MS) {
      reading = { at: now, free: freeBytes(folder).catch(() => Number.POSITIVE_INFINITY) };
    }
    return (await reading.free) >= times * minFreeBytes;
  };
}

/** Flushes the file's content. */
export function syncFile(file: string): void {
  const handle = openSync(file, 'r+');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

export type LogFile = ReturnType<typeof openLogFile>;

/**
 * Opens the write-ahead log of an open database; SQLite keeps the file while a connection is open. Flushes it once,
 * because a killed process may have left commits in it that are not durable yet.
 */
export function openLogFile({ name }: Database) {
  const file = openSync(`${name}-wal`, 'r+');
  fdatasyncSync(file);
  return {
    /**
     * Resolves when all commits before the call are durable. It does not block the event loop. If it rejects, it is
     * unknown which commits are durable, and disk and file can no longer be trusted.
     */
    flush: () =>
      new Promise<void>((resolve, reject) => {
        fdatasync(file, (error) => (error === null ? resolve() : reject(error)));
      }),
    close: () => closeSync(file),
  };
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
