// Backs up a SQLite database to a verified file while a server runs.

import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, linkSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { syncFolderOf } from '../../../../base/durable-folder.ts';
import { SvcError } from '../../../../base/svc-error.ts';
import { canonicalPath, lockDatabase, requireDatabase, usable } from '../engine/connections.ts';
import { syncFile } from '../engine/disk.ts';
import { requireOwnSchema } from '../engine/migrate.ts';
import { migrations } from '../migrations.ts';
import { refuseUnfinishedRestore } from './unfinished-restore.ts';

/** The end of the name of an unfinished copy. */
const PARTIAL = /\.partial-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

interface Backup {
  bytes: number;
  /** Paths of removed files that killed backups had left. */
  removed: string[];
}

/**
 * Writes the committed state of the database into a new file that only its owner may read. It works next to a live
 * server and delays none of its writes. The file appears under its name once the copy is verified and durable. Files
 * that killed backups left in the folder are removed first.
 *
 * @throws SvcError `file_exists`; `database_missing`, `restore_unfinished`, `database_foreign` or `schema_too_new`;
 *   `backup_failed` if the copy is damaged.
 */
export function backupDatabase(databasePath: string, file: string): Backup {
  refuseExisting(file);
  const source = canonicalPath(databasePath, { create: false });
  refuseUnfinishedRestore(source);
  requireDatabase(source);
  const removed = removeLeftPartials(file);
  return withPartial(file, (partial) => {
    usable(source, () => copyDatabase(source, partial));
    verifyCopy(partial);
    syncFile(partial);
    nameOnce(partial, file);
    syncFolderOf(file);
    return { bytes: statSync(file).size, removed };
  });
}

/** Copies the committed state, write-ahead log included, into a new file that only its owner may read. */
export function copyDatabase(from: string, to: string): void {
  const db = new Database(from, { readonly: true, fileMustExist: true });
  try {
    requireOwnSchema(db, migrations);
    // Create the file empty first: SQLite then fills it and keeps its permissions.
    closeSync(openSync(to, 'wx', 0o600));
    db.prepare('VACUUM INTO ?').run(to);
  } finally {
    db.close();
  }
}

/** Checks the integrity of the whole copy. @throws SvcError `backup_failed` */
export function verifyCopy(file: string): void {
  const copy = new Database(file, { readonly: true, fileMustExist: true });
  try {
    requireOwnSchema(copy, migrations);
    if (copy.pragma('integrity_check', { simple: true }) === 'ok') return;
  } finally {
    copy.close();
  }
  throw new SvcError('backup_failed', `The copy ${file} is damaged.`);
}

/**
 * Runs `write` with the name of an unfinished copy next to `file`, and removes the copy afterwards. A lock, which the
 * operating system releases, shows later backups whether the copy is still in use.
 */
export function withPartial<T>(file: string, write: (partial: string) => T): T {
  const partial = `${file}.partial-${randomUUID()}`;
  const lock = lockDatabase(partial);
  try {
    return write(partial);
  } finally {
    removeHeld(partial, lock);
  }
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

/** Removes unfinished copies of killed backups in the folder of `file`, whatever their names. Returns their paths. */
function removeLeftPartials(file: string): string[] {
  const folder = path.dirname(file);
  const partials = readdirSync(folder).filter((name) => PARTIAL.test(name));
  return partials.map((name) => path.join(folder, name)).filter(removeIfLeft);
}

function removeIfLeft(partial: string): boolean {
  let lock: ReturnType<typeof lockDatabase>;
  try {
    lock = lockDatabase(partial);
  } catch {
    // It is in use, or belongs to another user. Neither prevents this backup.
    return false;
  }
  removeHeld(partial, lock);
  return true;
}

function removeHeld(partial: string, lock: { release(): void }): void {
  try {
    rmSync(partial, { force: true });
  } finally {
    lock.release();
    rmSync(`${partial}.lock`, { force: true });
  }
}
