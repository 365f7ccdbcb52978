// Opens and locks the SQLite file, and classifies SQLite's errors.

import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Database } from 'better-sqlite3';
import { makeDurableFolder } from '../../../../base/durable-folder.ts';
import { keepPrivate } from '../../../../base/private-file.ts';
import { openSqlite, sqliteErrorKind } from '../../../../base/sqlite.ts';
import { SvcError } from '../../../../base/svc-error.ts';
import { refuseForeignLog } from './file-identity.ts';

/** How long the start and reads wait for a lock. Writes never wait inside SQLite (`prepareToServe`). */
const BUSY_TIMEOUT_MS = 5_000;

/** Bytes. A checkpoint truncates a write-ahead log that is longer. */
const WAL_SIZE_LIMIT = 64 * 1024 * 1024;

/** Holds the index pages that the leaves of a batch touch in a large database. */
const CACHE_KIB = 65_536;

/**
 * Resolves links, so that every process names the same file by the same path. The file need not exist. `create` creates
 * its folder.
 *
 * @throws SvcError `database_unusable` if the path cannot be followed, `database_missing` if there is no folder.
 */
export function canonicalPath(path: string, { create }: { create: boolean }): string {
  if (isThere(path)) return realpathSync(path);
  // The target of a dangling link may be about to come back, so follow the link.
  const link = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  if (link) return canonicalPath(resolve(dirname(path), readlinkSync(path)), { create });
  if (create) makeDurableFolder(dirname(path));
  else if (!existsSync(dirname(path))) throw missing(path);
  return join(realpathSync(dirname(path)), basename(path));
}

/** @throws SvcError `database_missing` if there is no file at `path`, `log_foreign` if its log is not its own. */
export function requireDatabase(path: string): void {
  if (!existsSync(path)) throw missing(path);
  refuseForeignLog(path);
}

/**
 * Locks the database for one server. The operating system releases the lock when the process ends, however it ends.
 *
 * @throws SvcError `database_locked` while another process holds it.
 */
export function lockDatabase(path: string): { release(): void } {
  const lock = openPrivate(path, `${path}.lock`, 0);
  try {
    lock.pragma('locking_mode = EXCLUSIVE');
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (sqliteErrorKind(error) !== 'busy') throw unusable(path, error);
    throw new SvcError('database_locked', `Another svc-server uses the database ${path}.`, {
      hint: 'Stop the other server, or use another folder: --data-dir for svc-server dev, SVC_DATA_DIR for svc-server start. Several servers can share a PostgreSQL database: SVC_DATABASE_URL=postgres://… for svc-server start.',
      cause: error,
    });
  }
  return { release: () => lock.close() };
}

export function openWriter(path: string): Database {
  const db = openPrivate(path, path, BUSY_TIMEOUT_MS);
  try {
    db.pragma('journal_mode = WAL');
    // `FULL` would flush on the event loop. Group commit flushes the log instead (`openLogFile`).
    db.pragma('synchronous = NORMAL');
    db.pragma('foreign_keys = ON');
    // Overwrite deleted content with zeros.
    db.pragma('secure_delete = ON');
    db.pragma(`journal_size_limit = ${WAL_SIZE_LIMIT}`);
    db.pragma(`cache_size = -${CACHE_KIB}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Prepares the writer for requests. A lock held by another process is an error at once, so that the event loop is never
 * blocked. SQLite keeps its statement journals in memory instead of creating a file for each large group. Call this
 * after the migrations, which could otherwise build whole tables and indexes in memory.
 */
export function prepareToServe(writer: Database): void {
  writer.pragma('busy_timeout = 0');
  writer.pragma('temp_store = MEMORY');
}

/** Opens a file for its owner alone. @throws SvcError `database_unusable` */
function openPrivate(database: string, file: string, timeout: number): Database {
  try {
    keepPrivate(file);
  } catch (error) {
    throw unusable(database, error);
  }
  return usable(database, () => openSqlite(file, { timeout }));
}

/** Ends all leases. Call it after taking the file's lock: then every former holder has ended. */
export function endLeases(db: Database): void {
  db.exec('UPDATE leases SET holder = NULL, expires_at = 0');
}

/**
 * While it is open, closing another connection neither checkpoints nor deletes the log, and read-only it does not do so
 * itself.
 */
export function openReader(path: string): Database {
  return openSqlite(path, { timeout: BUSY_TIMEOUT_MS, fileMustExist: true, readonly: true });
}

/** Runs `work` on the connection, and closes it. */
export function closing<T>(db: Database, work: (db: Database) => T): T {
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** Whether the integrity check of the file finds nothing. */
export function isSound(db: Database): boolean {
  return db.pragma('integrity_check', { simple: true }) === 'ok';
}

/** Whether disk or file can no longer be trusted. The process should end. */
export function isFatal(error: unknown): error is Error {
  const kind = sqliteErrorKind(error);
  return kind === 'damaged' || kind === 'io';
}

/** Whether the path exists. @throws SvcError `database_unusable`, for circular links for example. */
function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw new SvcError('database_unusable', `Cannot follow the path ${path}.`, {
      hint: 'Check its links, and the permissions of its folders.',
      cause: error,
    });
  }
}

/** Runs `work` on the database file. @throws SvcError `database_unusable` for an error of SQLite. */
export function usable<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw sqliteErrorKind(error) === null ? error : unusable(path, error);
  }
}

export function unusable(path: string, cause: unknown): SvcError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new SvcError('database_unusable', `Cannot use ${path} as a database: ${reason}.`, {
    hint: 'Check that it is a SQLite file, that the file and its folder are writable, and that the disk has free space.',
    cause,
  });
}

function missing(path: string): SvcError {
  return new SvcError('database_missing', `The database ${path} does not exist.`, {
    hint: 'Set SVC_DATA_DIR or SVC_DATABASE_URL to its location, or run `svc-server start` to create it.',
  });
}
