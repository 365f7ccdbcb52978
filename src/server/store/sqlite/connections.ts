import { existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { SvcError } from '../../../base/svc-error.ts';
import { faultKind } from './faults.ts';

/** Waits of the start and of reads; writes never wait for a lock inside SQLite. */
const BUSY_TIMEOUT_MS = 5_000;

/** Beyond it the write-ahead log is cut back after a checkpoint. Bytes. */
const WAL_SIZE_LIMIT = 64 * 1024 * 1024;

/**
 * The path under which every process knows the same file, whether it is there or not; its folder is made if
 * needed with `create`.
 *
 * @throws SvcError `database_unusable` when nobody can follow the path, `database_missing` without its folder.
 */
export function canonicalPath(path: string, { create }: { create: boolean }): string {
  if (isThere(path)) return realpathSync(path);
  // What the link stands for may be about to come back.
  const link = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  if (link) return canonicalPath(resolve(dirname(path), readlinkSync(path)), { create });
  if (create) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  else if (!existsSync(dirname(path))) throw missing(path);
  return join(realpathSync(dirname(path)), basename(path));
}

/** Links in a circle are told from what is not there. */
function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw new SvcError('database_unusable', `The path ${path} cannot be followed.`, {
      hint: 'Check its links, and who may read its folders.',
      cause: error,
    });
  }
}

/** @throws SvcError `database_missing` when `path` is not there. */
export function requireDatabase(path: string): void {
  if (!existsSync(path)) throw missing(path);
}

function missing(path: string): SvcError {
  return new SvcError('database_missing', `There is no database at ${path}.`, {
    hint: 'Set SVC_DATA_DIR or SVC_DATABASE_URL to where the service keeps it; svc-server start makes it.',
  });
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
      hint: 'Stop it, or give this one a data folder of its own. Several servers on one database need PostgreSQL: SVC_DATABASE_URL=postgres://…',
      cause: error,
    });
  }
  return { release: () => lock.close() };
}

/** Index pages of a large database that a batch of 1024 leaves touches. */
const CACHE_KIB = 65_536;

export function openWriter(path: string): Database.Database {
  const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    db.pragma('journal_mode = WAL');
    // A commit is durable when its log is flushed (log-file.ts), which SQLite would do on the event loop.
    db.pragma('synchronous = NORMAL');
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

/**
 * From here on a lock of another process is an error at once, so that the event loop goes on, and what undoes one write
 * of a group stands in memory, not in a file for each large group. Not while migrations run: they would build whole
 * tables and indexes in memory.
 */
export function prepareToServe(writer: Database.Database): void {
  writer.pragma('busy_timeout = 0');
  writer.pragma('temp_store = MEMORY');
}

export function openReader(path: string): Database.Database {
  const db = new Database(path, { timeout: BUSY_TIMEOUT_MS, fileMustExist: true });
  db.pragma('query_only = ON');
  return db;
}
