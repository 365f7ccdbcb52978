import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { SvcError } from '../../../../base/svc-error.ts';
import { canonicalPath, lockDatabase } from '../engine/connections.ts';
import { syncFile } from '../engine/disk.ts';
import { migrate } from '../engine/migrate.ts';
import { holdQueue } from '../leases.ts';
import { migrations } from '../migrations.ts';
import { copyDatabase, verifyCopy } from './backup.ts';
import { declareReady, finishRestore, incomingCopy, removeCopy } from './unfinished-restore.ts';

export interface RestoreOptions {
  databasePath: string;
  /** The backup, or a database that was set aside, its write-ahead log beside it; it is only read. */
  file: string;
  /** Sets a database that is there aside instead of refusing. */
  force: boolean;
  now: number;
}

/**
 * Puts a backup in the place of the database, its queue held: proofs that it shows as queued may have been
 * anchored after it was taken. Cut short, it has changed nothing yet, or the next start ends it. Answers
 * where the database before it went; null when there was none.
 *
 * @throws SvcError `database_locked` while a server runs, `database_exists` without `force`, and
 *   `database_foreign`, `schema_too_new` or `backup_failed` when the file is no sound backup.
 */
export function restoreDatabase({ databasePath, file, force, now }: RestoreOptions): string | null {
  if (!existsSync(file)) throw new SvcError('not_found', `There is no file ${file}.`);
  const target = canonicalPath(databasePath, { create: true });
  const lock = lockDatabase(target);
  const copy = incomingCopy(target);
  try {
    finishRestore(target);
    if (existsSync(target) && !force) {
      throw new SvcError('database_exists', `There is a database at ${target}.`, {
        hint: 'With --force it is set aside, not deleted.',
      });
    }
    // The source too: copying makes its indexes anew, and would hide that one of them is damaged.
    verifyCopy(file);
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
