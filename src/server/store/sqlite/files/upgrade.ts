import { canonicalPath, lockDatabase, openWriter, requireDatabase } from '../engine/connections.ts';
import { openLogFile } from '../engine/disk.ts';
import { migrate } from '../engine/migrate.ts';
import { migrations } from '../migrations/migrations.ts';
import { finishRestore, isRestoreUnfinished } from './unfinished-restore.ts';

/**
 * Brings an existing database up to date, as a start does, without starting. Ends a restore that was
 * cut short. Answers the schema's version.
 *
 * @throws SvcError `database_missing`, `database_locked` while a server runs, `schema_too_new`,
 *   `database_foreign`.
 */
export function migrateDatabase(path: string, now: number): number {
  const existing = canonicalPath(path, { create: false });
  if (!isRestoreUnfinished(existing)) requireDatabase(existing);
  const lock = lockDatabase(existing);
  try {
    finishRestore(existing);
    const db = openWriter(existing);
    try {
      migrate({ db, migrations, now });
      openLogFile(db).close();
      return migrations.length;
    } finally {
      db.close();
    }
  } finally {
    lock.release();
  }
}
