// Backs up a SQLite database to a verified file while a server runs, and restores one, also after an interruption.
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { syncFolderOf } from '../../../../base/durable-folder.ts';
import { openSqlite } from '../../../../base/sqlite.ts';
import { SvcError } from '../../../../base/svc-error.ts';
import { holdQueue } from '../../operations.ts';
import {
  canonicalPath,
  closing,
  isSound,
  lockDatabase,
  requireDatabase,
  usable,
} from '../engine/connections.ts';
import { syncFile } from '../engine/disk.ts';
import { forgetIdentity, renewIdentity } from '../engine/file-identity.ts';
import { migrate, requireOwnSchema } from '../engine/migrate.ts';
import { SqliteTx, statementsOn } from '../engine/tx.ts';
import { migrations } from '../migrations.ts';

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
  closing(openSqlite(from, { readonly: true, fileMustExist: true }), (db) => {
    requireOwnSchema(db, migrations);
    // Create the file empty first: SQLite then fills it and keeps its permissions.
    closeSync(openSync(to, 'wx', 0o600));
    db.prepare('VACUUM INTO ?').run(to);
  });
  closing(openSqlite(to), renewIdentity);
}

/** Checks the integrity of the whole copy. @throws SvcError `backup_failed` */
function verifyCopy(file: string): void {
  closing(openSqlite(file, { readonly: true, fileMustExist: true }), (copy) => {
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

/** The suffix of a copy that is complete, durable and held. A time in ms follows it. */
const READY = '.restoring.';

/** The path of a copy that is not ready. */
function incomingCopy(target: string): string {
  return `${target}.incoming`;
}

/** Renames the copy. From here on an interrupted restore is finished by the next start. */
function declareReady(target: string, now: number): void {
  renameSync(incomingCopy(target), `${target}${READY}${now}`);
}

/**
 * Replaces the database by a copy that is ready. A crash can interrupt it anywhere, so each step may have been done
 * before. A copy that is not ready is removed. The caller must hold the lock. Returns the path that the old database
 * was moved to; `null` if there was none.
 */
export function finishRestore(target: string): string | null {
  removeCopy(incomingCopy(target));
  const ready = readyCopy(target);
  if (ready === null) return null;
  const aside = `${target}.replaced.${ready.slice(`${target}${READY}`.length)}`;
  syncFolderOf(target);
  // Move the write-ahead log too: it belongs to this file only.
  for (const suffix of ['', '-wal']) {
    if (existsSync(`${target}${suffix}`)) renameSync(`${target}${suffix}`, `${aside}${suffix}`);
  }
  rmSync(`${target}-shm`, { force: true });
  forgetIdentity(target);
  renameSync(ready, target);
  syncFolderOf(target);
  return existsSync(aside) ? aside : null;
}

/**
 * Refuses an unfinished restore, for a process that runs next to a server and must not finish it. Call it before
 * checking that the database exists: during a restore there is a moment without one.
 *
 * @throws SvcError `restore_unfinished`.
 */
export function refuseUnfinishedRestore(target: string): void {
  if (!isRestoreUnfinished(target)) return;
  throw new SvcError('restore_unfinished', `A restore of ${target} was interrupted.`, {
    hint: 'Run `svc-server start`, `migrate` or `restore` to finish it.',
  });
}

export function isRestoreUnfinished(target: string): boolean {
  return readyCopy(target) !== null;
}

function removeCopy(copy: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal'])
    rmSync(`${copy}${suffix}`, { force: true });
}

function readyCopy(target: string): string | null {
  const folder = path.dirname(target);
  const name = readdirSync(folder).find((one) =>
    one.startsWith(`${path.basename(target)}${READY}`),
  );
  return name === undefined ? null : path.join(folder, name);
}

interface RestoreOptions {
  databasePath: string;
  /** A backup, or a database that was set aside with its write-ahead log. It is only read. */
  file: string;
  /** Moves an existing database aside instead of refusing. */
  force: boolean;
  now: number;
}

/**
 * Replaces the database by a backup and holds its queue: proofs that are queued in the backup may have been anchored
 * since. A restore that is interrupted has either changed nothing, or the next start finishes it. Returns the path that
 * the old database was moved to; `null` if there was none.
 *
 * @throws SvcError `database_locked` while a server runs, `database_exists` without `force`, and `database_foreign`,
 *   `schema_too_new` or `backup_failed` if the file is not a sound backup.
 */
export async function restoreDatabase({
  databasePath,
  file,
  force,
  now,
}: RestoreOptions): Promise<string | null> {
  if (!existsSync(file)) throw new SvcError('not_found', `The file ${file} does not exist.`);
  const target = canonicalPath(databasePath, { create: true });
  const lock = lockDatabase(target);
  const copy = incomingCopy(target);
  try {
    finishRestore(target);
    if (existsSync(target) && !force) {
      throw new SvcError('database_exists', `A database already exists at ${target}.`, {
        hint: 'Use --force to move it aside.',
      });
    }
    // Verify the source too: copying rebuilds the indexes and would hide a damaged one.
    usable(file, () => verifyCopy(file));
    copyDatabase(file, copy);
    verifyCopy(copy);
    await makeReady(copy, now);
    declareReady(target, now);
    return finishRestore(target);
  } finally {
    removeCopy(copy);
    lock.release();
  }
}

/** Migrates the copy, holds its queue and flushes it. */
async function makeReady(copy: string, now: number): Promise<void> {
  const db = openSqlite(copy, { fileMustExist: true });
  try {
    db.pragma('secure_delete = ON');
    migrate({ db, migrations, now: null });
    db.exec('BEGIN IMMEDIATE');
    await holdQueue(new SqliteTx(statementsOn(db, () => now)), now);
    db.exec('COMMIT');
  } finally {
    db.close();
  }
  syncFile(copy);
}
