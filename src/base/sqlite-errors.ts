// Classifies errors of SQLite.
import Database from 'better-sqlite3';

export type SqliteErrorKind =
  /** Another process holds the lock. A retry can succeed. */
  | 'busy'
  /** No room on the disk. */
  | 'full'
  /** The content of the file is wrong. */
  | 'damaged'
  /** The disk failed. */
  | 'io'
  /** A constraint of the schema was violated: a bug in this process. */
  | 'constraint'
  | 'other';

/** `null` if it is no error of SQLite. */
export function sqliteErrorKind(error: unknown): SqliteErrorKind | null {
  if (!(error instanceof Database.SqliteError)) return null;
  const { code } = error;
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return 'busy';
  if (code === 'SQLITE_FULL') return 'full';
  if (/^SQLITE_(CORRUPT|NOTADB|IOERR_SHORT_READ)/.test(code)) return 'damaged';
  if (code.startsWith('SQLITE_IOERR')) return 'io';
  if (code.startsWith('SQLITE_CONSTRAINT')) return 'constraint';
  return 'other';
}
