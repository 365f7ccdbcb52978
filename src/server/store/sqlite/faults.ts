import Database from 'better-sqlite3';

export type FaultKind =
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
export function faultKind(error: unknown): FaultKind | null {
  if (!(error instanceof Database.SqliteError)) return null;
  const { code } = error;
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return 'busy';
  if (code === 'SQLITE_FULL') return 'full';
  if (/^SQLITE_(IOERR|CORRUPT|NOTADB)/.test(code)) return 'fatal';
  if (code.startsWith('SQLITE_CONSTRAINT')) return 'constraint';
  return 'other';
}
