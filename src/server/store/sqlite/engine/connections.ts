import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import type { Clock } from '../../../../base/clock.ts';
import { makeDurableFolder } from '../../../../base/durable-folder.ts';
import { SvcError } from '../../../../base/svc-error.ts';

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
  if (create) makeDurableFolder(dirname(path));
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
    if (databaseErrorKind(error) !== 'busy') throw error;
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
 * Prepares the writer for requests. A lock held by another process is an error at once, so that the event loop is never
 * blocked. SQLite keeps its statement journals in memory instead of creating a file for each large group. Call this
 * after the migrations, which could otherwise build whole tables and indexes in memory.
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

/** What the parts of the store share. */
export interface Access {
  /** Only for statements that run inside `write`. */
  writer: Database.Database;
  /** Only for statements that run inside `read`; sees what was committed and is durable. */
  reader: Database.Database;
  clock: Clock;
  /** See `GroupCommit.write`. */
  write<T>(work: () => T): Promise<T>;
  /** See `LogPurge.purge`; belongs after the commit of what erases. */
  purgeLog(): Promise<void>;
  /** See `LogPurge.join`; for what found nothing left to erase. */
  joinLogPurge(): Promise<void>;
  /** Rejects with `storage_unavailable` when the database cannot be read. */
  read<T>(query: () => T): Promise<T>;
  /** The same at once, for what must not let anything happen in between. */
  readNow<T>(query: () => T): T;
}

export type DatabaseErrorKind =
  /** Another process holds the write lock; the same attempt can succeed later. */
  | 'busy'
  /** No room on the disk. */
  | 'full'
  /** Disk or file cannot be trusted any more; the process should end. */
  | 'fatal'
  /** A rule of the schema was broken: a bug in this process. */
  | 'constraint'
  | 'other';

/** What an error of SQLite means, or null when it is none of SQLite's. */
export function databaseErrorKind(error: unknown): DatabaseErrorKind | null {
  if (!(error instanceof Database.SqliteError)) return null;
  const { code } = error;
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return 'busy';
  if (code === 'SQLITE_FULL') return 'full';
  if (/^SQLITE_(IOERR|CORRUPT|NOTADB)/.test(code)) return 'fatal';
  if (code.startsWith('SQLITE_CONSTRAINT')) return 'constraint';
  return 'other';
}
