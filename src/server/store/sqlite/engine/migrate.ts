// Recognizes and upgrades the schema of a SQLite database, after a snapshot of it.

import type { Database } from 'better-sqlite3';
import { keepPrivate } from '../../../../base/private-file.ts';
import { openSqlite } from '../../../../base/sqlite.ts';
import { SvcError } from '../../../../base/svc-error.ts';
import { schemaTooNew, schemaTooOld } from '../../../ports/errors.ts';
import { closing, isSound } from './connections.ts';

/** The SQL of one schema version, or code that runs it. It runs in a transaction of its own. */
export type Migration = string | ((db: Database) => void);

interface MigrateOptions {
  db: Database;
  migrations: readonly Migration[];
  /** Part of the snapshot's name, so that names are unique. `null` for a copy, which needs no snapshot. */
  now: number | null;
}

/** "RSVE", in the header of every database of this service. */
const APPLICATION_ID = 0x52535645;

/** "RTPA", "RSVC" and "RSVD": databases written before the first release. No migration leads from them to ours. */
const DEVELOPMENT_IDS: readonly unknown[] = [0x52545041, 0x52535643, 0x52535644];

/**
 * Upgrades the schema, each migration in its own transaction. A database with data first gets a verified snapshot next
 * to its file. Needs exclusive access.
 *
 * @throws SvcError `schema_too_new` when a newer version of the service wrote the database, `schema_too_old` when a
 *   development version did, `database_foreign` when another program did.
 */
export function migrate({ db, migrations, now }: MigrateOptions): void {
  const from = knownVersion(db, migrations);
  if (from === migrations.length) return;
  if (from > 0 && now !== null) snapshot(db, `${db.name}.schema-${from}.${now}`);
  for (const [index, migration] of migrations.entries()) {
    if (index < from) continue;
    db.transaction(() => {
      if (typeof migration === 'string') db.exec(migration);
      else migration(db);
      db.pragma(`user_version = ${index + 1}`);
      db.pragma(`application_id = ${APPLICATION_ID}`);
    }).exclusive();
  }
}

/**
 * Checks the schema for a process that runs next to a server and therefore must not migrate.
 *
 * @throws SvcError `schema_too_old`, `schema_too_new` or `database_foreign`.
 */
export function requireSchema(db: Database, migrations: readonly Migration[]): void {
  const version = knownVersion(db, migrations);
  if (version < migrations.length) throw schemaTooOld(version, migrations.length);
}

/**
 * Checks the schema of a copy, which may be older: the next start migrates it.
 *
 * @throws SvcError `schema_too_new`, `schema_too_old` when a development version wrote it, or `database_foreign`.
 */
export function requireOwnSchema(db: Database, migrations: readonly Migration[]): void {
  if (knownVersion(db, migrations) === 0) throw foreign();
}

/** The version of the schema. Throws unless this version of the service knows it. */
function knownVersion(db: Database, migrations: readonly Migration[]): number {
  const version = Number(db.pragma('user_version', { simple: true }));
  requireOwn(db, version);
  if (version > migrations.length) throw schemaTooNew(version, migrations.length);
  return version;
}

function requireOwn(db: Database, version: number): void {
  const id = db.pragma('application_id', { simple: true });
  const isEmpty =
    id === 0 &&
    version === 0 &&
    db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
  if (id === APPLICATION_ID || isEmpty) return;
  throw DEVELOPMENT_IDS.includes(id) ? development() : foreign();
}

function development(): SvcError {
  return new SvcError(
    'schema_too_old',
    'The database was written by a development version, before the first release.',
    { hint: 'Move this file away and start with a new database file.' },
  );
}

function foreign(): SvcError {
  return new SvcError('database_foreign', 'The file is not a database of svc-server.');
}

function snapshot(db: Database, path: string): void {
  keepPrivate(path);
  db.prepare('VACUUM INTO ?').run(path);
  closing(openSqlite(path, { readonly: true, fileMustExist: true }), (copy) => {
    if (isSound(copy)) return;
    throw new SvcError('snapshot_failed', 'The snapshot before the migration is damaged.');
  });
}
