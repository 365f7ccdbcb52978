// Restores a SQLite database from a backup and holds anchoring until it is reconciled.

import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { SvcError } from '../../../../base/svc-error.ts';
import { holdQueue } from '../../operations.ts';
import { canonicalPath, closing, lockDatabase, usable } from '../engine/connections.ts';
import { syncFile } from '../engine/disk.ts';
import { migrate } from '../engine/migrate.ts';
import { runOn } from '../engine/steps.ts';
import { migrations } from '../migrations.ts';
import { copyDatabase, verifyCopy } from './backup.ts';
import { declareReady, finishRestore, incomingCopy, removeCopy } from './unfinished-restore.ts';

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
export function restoreDatabase({ databasePath, file, force, now }: RestoreOptions): string | null {
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
    makeReady(copy, now);
    declareReady(target, now);
    return finishRestore(target);
  } finally {
    removeCopy(copy);
    lock.release();
  }
}

/** Migrates the copy, holds its queue and flushes it. */
function makeReady(copy: string, now: number): void {
  closing(new Database(copy, { fileMustExist: true }), (db) => {
    db.pragma('secure_delete = ON');
    migrate({ db, migrations, now: null });
    db.transaction(() => runOn(db)(holdQueue(now))).immediate();
  });
  syncFile(copy);
}
