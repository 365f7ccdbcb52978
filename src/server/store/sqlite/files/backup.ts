import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, linkSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { syncFolderOf } from '../../../../base/durable-folder.ts';
import { SvcError } from '../../../../base/svc-error.ts';
import { canonicalPath, lockDatabase, requireDatabase } from '../engine/connections.ts';
import { syncFile } from '../engine/disk.ts';
import { requireOwnSchema } from '../engine/migrate.ts';
import { migrations } from '../migrations.ts';
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

/** Ends the name of a copy on its way to be a backup. */
const PARTIAL = /\.partial-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Runs `write` with a name beside `file` for a copy on its way, which is gone afterwards. A lock that the operating
 * system lets go of tells who comes later whether somebody is still at it.
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

/** Removes the copies beside `file` of backups that were killed, whatever they were to be called. Answers their paths. */
export function removeLeftPartials(file: string): string[] {
  const folder = path.dirname(file);
  const partials = readdirSync(folder).filter((name) => PARTIAL.test(name));
  return partials.map((name) => path.join(folder, name)).filter(removeIfLeft);
}

function removeIfLeft(partial: string): boolean {
  let lock: ReturnType<typeof lockDatabase>;
  try {
    lock = lockDatabase(partial);
  } catch {
    // Somebody is at it, or it is somebody else's: no reason to make no backup.
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
