// Recognizes the files of a database: whether their paths still name the open files, and whether the log is theirs.

import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { syncFolderOf } from '../../../../base/durable-folder.ts';
import { openSqlite, sqliteErrorKind } from '../../../../base/sqlite.ts';
import { SvcError } from '../../../../base/svc-error.ts';
import { syncFile } from './disk.ts';

/** A path, and which file it named when the database was opened. */
export type OpenedFile = readonly [path: string, identity: string | null];

/** Which file the path names; `null` if none. Opens no file: closing one would release SQLite's locks on it. */
export function identityOf(file: string): string | null {
  try {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? null : `${found.dev}:${found.ino}`;
  } catch (error) {
    // A path that cannot be read names no open file.
    return (error as NodeJS.ErrnoException).code ?? 'unreadable';
  }
}

/** Whether a path no longer names the file that was opened there. */
export function areReplaced(files: readonly OpenedFile[], identify = identityOf): boolean {
  return files.some(([file, opened]) => identify(file) !== opened);
}

/**
 * Gives the open database a new identity, and records next to it that the write-ahead log from here on is of that file.
 * The log holds no frame of the identity's page then, so the identity is always read from the file itself. Leaves no
 * record if another process reads an older state.
 */
export function recordIdentity(writer: Database): void {
  const record = recordOf(writer.name);
  // Durable first: after a power cut an old record would refuse the log of the new identity.
  forgetIdentity(writer.name);
  const identity = renewIdentity(writer);
  const [result] = writer.pragma('wal_checkpoint(TRUNCATE)') as { busy: 0 | 1 }[];
  if (result?.busy !== 0) return;
  writeFileSync(record, identity, { mode: 0o600 });
  syncFile(record);
  syncFolderOf(record);
}

/** Nothing else is on the page of this table. */
const TABLE = `CREATE TABLE IF NOT EXISTS file_identity (
  id INTEGER PRIMARY KEY CHECK (id = 1), identity TEXT NOT NULL) STRICT`;

/** Every start and every backup makes a new identity, so that no two files with different content share one. */
export function renewIdentity(db: Database): string {
  const identity = randomUUID();
  // Not of the schema: a backup of an older version gets it too.
  db.exec(TABLE);
  db.prepare('INSERT OR REPLACE INTO file_identity VALUES (1, ?)').run(identity);
  return identity;
}

/**
 * SQLite would replay any sound log over any file of the same name. Call it before the file is opened.
 *
 * @throws SvcError `log_foreign` if the write-ahead log was written for another file than the one at `file`.
 */
export function refuseForeignLog(file: string): void {
  if (isOwnLog(file)) return;
  if (bytesOf(`${file}-wal`) === 0) {
    // The record is of a file that was here before. A log that begins now is of this one.
    forgetIdentity(file);
    return;
  }
  throw new SvcError('log_foreign', `The log ${file}-wal belongs to another file than ${file}.`, {
    hint: `Put back the file of the log, or move ${file}-wal away and lose the writes that only the log has. If you copied both from one place, remove ${recordOf(file)}. Replace a database with svc-server restore.`,
  });
}

function isOwnLog(file: string): boolean {
  // SQLite writes the first page before it makes a log.
  if (bytesOf(file) === 0) return false;
  const recorded = readRecord(file);
  return recorded === null || recorded === readIdentity(file);
}

/** Removes the record of the file that was at the path. */
export function forgetIdentity(file: string): void {
  rmSync(recordOf(file), { force: true });
  syncFolderOf(file);
}

/** `null` if nothing can be read. */
function readIdentity(file: string): unknown {
  // Read-only: closing it neither checkpoints nor deletes the log.
  const db = openSqlite(file, { readonly: true, fileMustExist: true });
  try {
    return db.prepare('SELECT identity FROM file_identity WHERE id = 1').pluck().get();
  } catch (error) {
    const kind = sqliteErrorKind(error);
    if (kind === 'damaged' || kind === 'other') return null;
    throw error;
  } finally {
    db.close();
  }
}

function readRecord(file: string): string | null {
  try {
    return readFileSync(recordOf(file), 'utf8') || null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function recordOf(file: string): string {
  return `${file}.identity`;
}

function bytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
