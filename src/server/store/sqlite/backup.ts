import { closeSync, existsSync, linkSync, openSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { SvcError } from '../../../base/svc-error.ts';
import { canonicalPath, requireDatabase } from './connections.ts';
import { requireOwnSchema } from './migrate.ts';
import { migrations } from './migrations/migrations.ts';
import { removeLeftPartials, withPartial } from './partial-backup.ts';
import { syncFile, syncFolderOf } from './sync-files.ts';
import { refuseUnfinishedRestore } from './unfinished-restore.ts';

export interface Backup {
  bytes: number;
  /** Paths of what backups that were killed had left. */
  removed: string[];
}

/**
 * Writes what is committed in the database into a new file, which only its owner may read; works beside a
 * live server and holds up none of its writes. The name appears once the copy is verified and durable.
 * What backups that were killed have left in its folder goes first.
 *
 * @throws SvcError `file_exists`; `database_missing`, `restore_unfinished`, `database_foreign` or
 *   `schema_too_new`; `backup_failed` when the copy is not sound.
 */
export function backupDatabase(databasePath: string, file: string): Backup {
  refuseExisting(file);
  const source = canonicalPath(databasePath, { create: false });
  refuseUnfinishedRestore(source);
  requireDatabase(source);
  const removed = removeLeftPartials(file);
  return withPartial(file, (partial) => {
    copyDatabase(source, partial);
    verifyCopy(partial);
    syncFile(partial);
    nameOnce(partial, file);
    syncFolderOf(file);
    return { bytes: statSync(file).size, removed };
  });
}

/** What is committed, in the write-ahead log too, into a new file that only its owner may read. */
export function copyDatabase(from: string, to: string): void {
  const db = new Database(from, { readonly: true, fileMustExist: true });
  try {
    requireOwnSchema(db, migrations);
    // Made empty first: SQLite fills such a file and keeps its permissions.
    closeSync(openSync(to, 'wx', 0o600));
    db.prepare('VACUUM INTO ?').run(to);
  } finally {
    db.close();
  }
}

/** Reads it back whole. */
export function verifyCopy(file: string): void {
  const copy = new Database(file, { readonly: true, fileMustExist: true });
  try {
    requireOwnSchema(copy, migrations);
    if (copy.pragma('integrity_check', { simple: true }) === 'ok') return;
  } finally {
    copy.close();
  }
  throw new SvcError('backup_failed', `The copy ${file} is not a sound database.`);
}

/** A link, unlike a renaming, never replaces what has come there meanwhile. */
function nameOnce(partial: string, file: string): void {
  try {
    linkSync(partial, file);
  } catch (error) {
    refuseExisting(file);
    throw error;
  }
}

function refuseExisting(file: string): void {
  if (!existsSync(file)) return;
  throw new SvcError('file_exists', `${file} exists already; a backup overwrites nothing.`);
}
