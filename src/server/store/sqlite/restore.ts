import { chmodSync, copyFileSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { SvcError } from '../../../base/svc-error.ts';
import { syncFile, syncFolderOf, verifyCopy } from './backup.ts';
import { canonicalPath, lockDatabase } from './connections.ts';
import { holdQueue } from './hold.ts';
import { migrate } from './migrate.ts';
import { migrations } from './migrations/migrations.ts';

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
 * anchored after it was taken. Cut short, it has changed nothing yet, or the next start ends it. Answers where the database before it went; null when there was none.
 *
 * @throws SvcError `database_locked` while a server runs, `database_exists` without `force`, and
 *   `database_foreign`, `schema_too_new` or `backup_failed` when the file is no sound backup.
 */
export function restoreDatabase({ databasePath, file, force, now }: RestoreOptions): string | null {
  if (!existsSync(file)) throw new SvcError('not_found', `There is no file ${file}.`);
  const target = canonicalPath(databasePath, { create: true });
  const lock = lockDatabase(target);
  const copy = `${target}.incoming`;
  try {
    finishRestore(target);
    if (existsSync(target) && !force) {
      throw new SvcError('database_exists', `There is a database at ${target}.`, {
        hint: 'With --force it is set aside, not deleted.',
      });
    }
    remove(copy);
    copyFileSync(file, copy);
    chmodSync(copy, 0o600);
    verifyCopy(copy);
    makeReady(copy, now);
    renameSync(copy, `${target}${READY}${now}`);
    return finishRestore(target);
  } finally {
    remove(copy);
    lock.release();
  }
}

/** Follows the database's name in that of a copy which is whole, durable and held; then comes a number. */
const READY = '.restoring.';

/**
 * Puts a copy that is ready in the place of the database, also where a restore was cut short at any moment:
 * each step may have been done before. Only for who holds the lock. Answers where the database before it
 * is; null when there was none.
 */
export function finishRestore(target: string): string | null {
  const ready = readyCopy(target);
  if (ready === null) return null;
  const aside = `${target}.replaced.${ready.slice(`${target}${READY}`.length)}`;
  syncFolderOf(target);
  // The write-ahead log goes along: it belongs to that file and to no other.
  for (const suffix of ['', '-wal']) {
    if (existsSync(`${target}${suffix}`)) renameSync(`${target}${suffix}`, `${aside}${suffix}`);
  }
  rmSync(`${target}-shm`, { force: true });
  syncFolderOf(target);
  renameSync(ready, target);
  syncFolderOf(target);
  return existsSync(aside) ? aside : null;
}

/**
 * For a process that works beside a server and so must not finish it.
 *
 * @throws SvcError `restore_unfinished`.
 */
export function refuseUnfinishedRestore(target: string): void {
  if (readyCopy(target) === null) return;
  throw new SvcError('restore_unfinished', `A restore of ${target} was cut short.`, {
    hint: 'svc-server start, or svc-server restore again, finishes it.',
  });
}

function readyCopy(target: string): string | null {
  const folder = path.dirname(target);
  const name = readdirSync(folder).find((one) =>
    one.startsWith(`${path.basename(target)}${READY}`),
  );
  return name === undefined ? null : path.join(folder, name);
}

/** Of the newest schema, its queue held, durable. */
function makeReady(copy: string, now: number): void {
  const db = new Database(copy, { fileMustExist: true });
  try {
    db.pragma('secure_delete = ON');
    migrate({ db, migrations, now: null });
    db.transaction(() => holdQueue(db, now)).immediate();
  } finally {
    db.close();
  }
  syncFile(copy);
}

function remove(copy: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal'])
    rmSync(`${copy}${suffix}`, { force: true });
}
