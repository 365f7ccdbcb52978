import Database from 'better-sqlite3';
import { SvcError } from '../../../../base/svc-error.ts';
import { newProofKey, sealProof } from '../../rows/evidence.ts';

/** SQL, or what it takes to do what SQL cannot; inside a transaction. */
export type Migration = string | ((db: Database.Database) => void);

export interface MigrateOptions {
  db: Database.Database;
  migrations: readonly Migration[];
  /** Part of the snapshot's name, so that none overwrites another; null for a copy, which needs none. */
  now: number | null;
}

/** "RTPA", in the header of every database of this service. */
const APPLICATION_ID = 0x52545041;

/**
 * Up to this schema what was deleted was not overwritten: it is in the file still, on pages that nothing uses
 * and between the rows of others.
 */
const LAST_WITH_REMAINS = 4;

/**
 * Brings the schema up to date, each migration in a transaction of its own, after a verified snapshot
 * beside the file when there is something to lose. Needs the database for itself.
 *
 * @throws SvcError `schema_too_new` when a newer version of the service wrote it, `database_foreign`
 *   when it is another program's.
 */
export function migrate({ db, migrations, now }: MigrateOptions): void {
  const from = schemaVersion(db);
  requireOwn(db, from);
  if (from > migrations.length) throw tooNew(from, migrations.length);
  if (from === migrations.length) return;
  if (from > 0 && now !== null) snapshot(db, `${db.name}.schema-${from}.${now}`);
  const hasRemains = from > 0 && from <= LAST_WITH_REMAINS;
  // Before the first migration: cut short between them, the next start sees the old schema and does it again.
  if (hasRemains) db.exec('VACUUM');
  teachSums(db);
  db.function('new_proof_key', newProofKey);
  db.function('seal_proof', sealProof);
  for (const [index, migration] of migrations.entries()) {
    if (index < from) continue;
    db.transaction(() => {
      if (typeof migration === 'string') db.exec(migration);
      else migration(db);
      db.pragma(`user_version = ${index + 1}`);
      db.pragma(`application_id = ${APPLICATION_ID}`);
    }).exclusive();
  }
  if (hasRemains) db.pragma('wal_checkpoint(TRUNCATE)');
}

/**
 * `wei_spent(amounts)`: what entries of the ledger, their amounts separated by blanks, took from a balance
 * together; as decimal text, since wei do not fit SQLite's integers.
 */
function teachSums(db: Database.Database): void {
  db.aggregate<string[]>('wei_spent', {
    start: () => ['0'],
    step: ([total = '0'], amounts) => [String(spent(BigInt(total), amounts))],
    result: ([total]) => total,
    deterministic: true,
  });
}

function spent(total: bigint, amounts: string): bigint {
  return amounts.split(' ').reduce((sum, amount) => sum - BigInt(amount), total);
}

/**
 * For a process that works beside a server and so must not migrate.
 *
 * @throws SvcError `schema_too_old`, `schema_too_new` or `database_foreign`.
 */
export function requireSchema(db: Database.Database, migrations: readonly Migration[]): void {
  const version = schemaVersion(db);
  requireOwn(db, version);
  if (version > migrations.length) throw tooNew(version, migrations.length);
  if (version < migrations.length) {
    throw new SvcError(
      'schema_too_old',
      `The database has schema ${version}; this version works with schema ${migrations.length}.`,
      { hint: 'svc-server migrate of this version brings the schema up to date.' },
    );
  }
}

/**
 * For a copy that a start would bring up to date.
 *
 * @throws SvcError `schema_too_new` or `database_foreign`.
 */
export function requireOwnSchema(db: Database.Database, migrations: readonly Migration[]): void {
  const version = schemaVersion(db);
  requireOwn(db, version);
  if (version === 0) throw foreign();
  if (version > migrations.length) throw tooNew(version, migrations.length);
}

function schemaVersion(db: Database.Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}

function requireOwn(db: Database.Database, version: number): void {
  const id = db.pragma('application_id', { simple: true });
  const isEmpty =
    id === 0 &&
    version === 0 &&
    db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
  if (id === APPLICATION_ID || isEmpty) return;
  throw foreign();
}

function foreign(): SvcError {
  return new SvcError('database_foreign', 'The file is no database of this service.');
}

function tooNew(found: number, known: number): SvcError {
  return new SvcError(
    'schema_too_new',
    `The database has schema ${found}; this version knows schemas up to ${known}.`,
    { hint: 'Use the version of svc-server that wrote it, or a newer one.' },
  );
}

function snapshot(db: Database.Database, path: string): void {
  db.prepare('VACUUM INTO ?').run(path);
  const copy = new Database(path, { readonly: true, fileMustExist: true });
  try {
    const verdict = copy.pragma('integrity_check', { simple: true });
    if (verdict !== 'ok') {
      throw new SvcError('snapshot_failed', 'The snapshot before the migration is not sound.');
    }
  } finally {
    copy.close();
  }
}
