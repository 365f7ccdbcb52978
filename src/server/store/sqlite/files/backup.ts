// Backs up a SQLite database to a verified file while a server runs.

import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, linkSync, openSync, rmSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { syncFolderOf } from '../../../../base/durable-folder.ts';
import { SvcError } from '../../../../base/svc-error.ts';
import { canonicalPath, closing, isSound, requireDatabase, usable } from '../engine/connections.ts';
import { syncFile } from '../engine/disk.ts';
import { requireOwnSchema } from '../engine/migrate.ts';
import { migrations } from '../migrations.ts';
import { refuseUnfinishedRestore } from './unfinished-restore.ts';

/**
 * Writes the committed state of the database into a new file that only its owner may read, and returns its size in bytes.
 * It works next to a live server and delays none of its writes. The file appears under its name once the copy is verified
 * and durable. A backup that is killed leaves `FILE.partial-ID`.
 *
 * @throws SvcError `file_exists`; `database_missing`, `restore_unfinished`, `database_foreign` or `schema_too_new`;
 *   `backup_failed` if the copy is damaged.
 */
export function backupDatabase(databasePath: string, file: string): number {
  refuseExisting(file);
  const source = canonicalPath(databasePath, { create: false });
  refuseUnfinishedRestore(source);
  requireDatabase(source);
  const partial = `${file}.partial-${randomUUID()}`;
  try {
    usable(source, () => copyDatabase(source, partial));
    verifyCopy(partial);
    syncFile(partial);
    nameOnce(partial, file);
    syncFolderOf(file);
    return statSync(file).size;
  } finally {
    rmSync(partial, { force: true });
  }
}

/** Copies the committed state, write-ahead log included, into a new file that only its owner may read. */
export function copyDatabase(from: string, to: string): void {
  closing(new Database(from, { readonly: true, fileMustExist: true }), (db) => {
    requireOwnSchema(db, migrations);
    // Create the file empty first: SQLite then fills it and keeps its permissions.
    closeSync(openSync(to, 'wx', 0o600));
    db.prepare('VACUUM INTO ?').run(to);
  });
}

/** Checks the integrity of the whole copy. @throws SvcError `backup_failed` */
export function verifyCopy(file: string): void {
  closing(new Database(file, { readonly: true, fileMustExist: true }), (copy) => {
    requireOwnSchema(copy, migrations);
    if (!isSound(copy)) throw new SvcError('backup_failed', `The copy ${file} is damaged.`);
  });
}

/** Gives the copy its name with a link: unlike a rename, it never replaces a file that was created meanwhile. */
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
  throw new SvcError('file_exists', `The file ${file} already exists.`);
}
