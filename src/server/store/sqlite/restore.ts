import { chmodSync, copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { SvcError } from '../../../base/svc-error.ts';
import { syncFile, syncFolderOf, verifyCopy } from './backup.ts';
import { canonicalPath, lockDatabase } from './connections.ts';
import { holdQueue } from './hold.ts';

export interface RestoreOptions {
  databasePath: string;
  /** The backup; it is only read. */
  file: string;
  /** Sets a database that is there aside instead of refusing. */
  force: boolean;
  now: number;
}

/**
 * Puts a backup in the place of the database, its queue held: proofs that it shows as queued may have been
 * anchored after it was taken. Answers where the database before it went; null when there was none.
 *
 * @throws SvcError `database_locked` while a server runs, `database_exists` without `force`, and
 *   `database_foreign`, `schema_too_new` or `backup_failed` when the file is no sound backup.
 */
export function restoreDatabase({ databasePath, file, force, now }: RestoreOptions): string | null {
  if (!existsSync(file)) throw new SvcError('not_found', `There is no file ${file}.`);
  const target = canonicalPath(databasePath, { create: true });
  const lock = lockDatabase(target);
  const incoming = `${target}.restoring`;
  try {
    if (existsSync(target) && !force) {
      throw new SvcError('database_exists', `There is a database at ${target}.`, {
        hint: 'With --force it is set aside, not deleted.',
      });
    }
    copyFileSync(file, incoming);
    chmodSync(incoming, 0o600);
    verifyCopy(incoming);
    holdIn(incoming, now);
    syncFile(incoming);
    const aside = setAside(target, now);
    renameSync(incoming, target);
    syncFolderOf(target);
    return aside;
  } finally {
    rmSync(incoming, { force: true });
    lock.release();
  }
}

function holdIn(file: string, now: number): void {
  const db = new Database(file, { fileMustExist: true });
  try {
    db.transaction(() => holdQueue(db, now)).immediate();
  } finally {
    db.close();
  }
}

/** The write-ahead log goes along under the new name: it belongs to that file and to no other. */
function setAside(target: string, now: number): string | null {
  const aside = `${target}.replaced.${now}`;
  const isThere = existsSync(target);
  if (isThere) renameSync(target, aside);
  if (isThere && existsSync(`${target}-wal`)) renameSync(`${target}-wal`, `${aside}-wal`);
  for (const suffix of ['-wal', '-shm']) rmSync(`${target}${suffix}`, { force: true });
  return isThere ? aside : null;
}
