import { existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { SvcError } from '../../../base/svc-error.ts';
import { faultKind } from './faults.ts';

/** Waits of the start and of reads; writes never wait for a lock inside SQLite. */
const BUSY_TIMEOUT_MS = 5_000;

/** Beyond it the write-ahead log is cut back after a checkpoint. Bytes. */
const WAL_SIZE_LIMIT = 64 * 1024 * 1024;

/** The path under which every process knows the same file, its folder made if needed. */
export function canonicalPath(path: string, { create }: { create: boolean }): string {
  if (existsSync(path)) return realpathSync(path);
  // What the link stands for may be about to come back.
  const link = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  if (link) return canonicalPath(resolve(dirname(path), readlinkSync(path)), { create });
  if (!create) {
    throw new SvcError('database_missing', `There is no database at ${path}.`, {
      hint: 'svc-server start makes it.',
    });
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return join(realpathSync(dirname(path)), basename(path));
}

/**
 * Holds the database for one server. The operating system lets go of the lock when the process ends,
 * however it ends.
 *
 * @throws SvcError `database_locked` while another process holds it.
 */
export function lockDatabase(path: string): { release(): void } {
  const lock = new Database(`${path}.lock`, { timeout: 0 });
  try {
    lock.pragma('locking_mode = EXCLUSIVE');
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (faultKind(error) !== 'busy') throw error;
    throw new SvcError('database_locked', `Another svc-server uses the database ${path}.`, {
      hint: 'Stop it, or give this one a data folder of its own. Several servers on one database need PostgreSQL, which this version does not have yet.',
      cause: error,
    });
  }
  return { release: () => lock.close() };
}

/** Index pages of a large database that a batch of 1024 leaves touches. */
const CACHE_KIB = 16_384;

export function openWriter(path: string): Database.Database {
  const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma('foreign_keys = ON');
    // What is deleted is overwritten with zeros, not only left out.
    db.pragma('secure_delete = ON');
    db.pragma(`journal_size_limit = ${WAL_SIZE_LIMIT}`);
    db.pragma(`cache_size = -${CACHE_KIB}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** From here on a lock of another process is an error at once, so that the event loop goes on. */
export function stopWaiting(writer: Database.Database): void {
  writer.pragma('busy_timeout = 0');
}

export function openReader(path: string): Database.Database {
  const db = new Database(path, { timeout: BUSY_TIMEOUT_MS, fileMustExist: true });
  db.pragma('query_only = ON');
  return db;
}
