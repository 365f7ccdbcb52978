// `svc-server check`, `migrate`, `backup`, `restore`, `migrate-store` and `hold`.
import path from 'node:path';
import { SvcError } from '../../base/svc-error.ts';
import { type DatabaseConfig, readConfig } from '../config.ts';
import { CheckedClock } from '../core/checked-clock.ts';
import type { Store } from '../ports/store.ts';
import { migrateStore as moveStore, openStore } from '../store/open-store.ts';
import { migratePostgres } from '../store/postgres/open-store.ts';
import { backupDatabase, restoreDatabase } from '../store/sqlite/files/backup.ts';
import { migrateDatabase } from '../store/sqlite/open-store.ts';
import { type Output, print } from './print.ts';

/** `svc-server backup FILE`: writes a verified copy of the database, also while the server runs. */
export function backup(environment: NodeJS.ProcessEnv, file: string, options: Output): void {
  const databasePath = sqlitePath(environment, 'pg_dump');
  const target = path.resolve(file);
  const bytes = backupDatabase(databasePath, target);
  print({ file: target, bytes }, [`Wrote ${target}: ${bytes} bytes, verified.`], options);
}

/** `svc-server restore FILE`: replaces the database with a backup, and holds its queue. */
export async function restore(
  environment: NodeJS.ProcessEnv,
  file: string,
  { force = false, ...options }: Output & { force?: boolean },
): Promise<void> {
  const databasePath = sqlitePath(environment, 'pg_restore, then svc-server hold');
  const aside = await restoreDatabase({
    databasePath,
    file: path.resolve(file),
    force,
    now: Date.now(),
  });
  const lines = [
    `Restored ${databasePath}. Anchoring is paused: run svc-server reconcile.`,
    ...(aside === null ? [] : [`The previous database is ${aside}.`]),
  ];
  print({ database: databasePath, set_aside: aside }, lines, options);
}

/** `svc-server migrate`: updates the schema without starting the server. */
export async function migrate(environment: NodeJS.ProcessEnv, options: Output): Promise<void> {
  const { database } = readConfig(environment);
  const schema =
    database.kind === 'sqlite'
      ? migrateDatabase(database.path, Date.now())
      : await migratePostgres(database);
  const name = nameOf(database);
  print({ database: name, schema }, [`${name} has schema ${schema}.`], options);
}

/** `svc-server hold`: holds the queue of a database that was restored by means other than `restore`. */
export async function hold(environment: NodeJS.ProcessEnv, options: Output): Promise<void> {
  await withStore(environment, options, (store) => store.holdQueue(Date.now()));
  print({ held: true }, ['Anchoring is paused: run svc-server reconcile.'], options);
}

/** Bytes of usage. A server may store less than this between two saves of its counts. */
const WORTH_SAYING = 1024 * 1024;

/** `svc-server check`: checks the invariants of the database. Returns exit code 0 if all hold, else 1. */
export async function check(environment: NodeJS.ProcessEnv, options: Output): Promise<number> {
  const { findings, recounted } = await withStore(environment, options, async (store) => ({
    findings: await store.checkInvariants(),
    recounted: await store.recountStorage(),
  }));
  if (recounted.bytes >= WORTH_SAYING && !options.json) {
    process.stderr.write(
      `Corrected the storage usage of ${recounted.accounts} accounts by ${recounted.bytes} bytes.\n`,
    );
  }
  const ok = findings.length === 0;
  const lines = findings.flatMap(({ invariant, violations }) => [
    invariant,
    ...violations.map((line) => `  ${line}`),
  ]);
  print({ ok, findings, recounted }, ok ? ['Every invariant holds.'] : lines, options);
  return ok ? 0 : 1;
}

const REPORT_EVERY_MS = 2_000;

/** `svc-server migrate-store`: moves everything from SQLite to PostgreSQL, once. */
export async function migrateStore(
  environment: NodeJS.ProcessEnv,
  { from, to, ...options }: Output & { from: string; to: string },
): Promise<void> {
  const source = databaseAt(environment, from);
  const target = databaseAt(environment, to);
  if (source.kind !== 'sqlite' || target.kind !== 'postgres') throw wrongAddresses();
  const name = nameOf(target);
  let reportedAt = Date.now();
  const rows = await moveStore(source, { ...target, target: name }, ({ table, step, rows }) => {
    if (options.json || Date.now() - reportedAt < REPORT_EVERY_MS) return;
    reportedAt = Date.now();
    process.stderr.write(`${table}: ${rows} rows ${step === 'write' ? 'written' : 'compared'}\n`);
  });
  const lines = [
    `Copied ${rows} rows to ${name} and compared each.`,
    `Set SVC_DATABASE_URL to the new database and start svc-server; ${source.path} is no longer used.`,
  ];
  print({ rows, target: name }, lines, options);
}

/** Opens the configured database for the duration of `work`, also while the server runs. */
export async function withStore<Result>(
  environment: NodeJS.ProcessEnv,
  { json, verbose }: Output,
  work: (store: Store, clock: CheckedClock) => Promise<Result>,
): Promise<Result> {
  const { database } = readConfig(environment);
  if (verbose && !json) process.stderr.write(`Database: ${nameOf(database)}\n`);
  const clock = new CheckedClock();
  const store = await openStore(database, { clock, serves: false });
  try {
    await clock.load(store);
    return await work(store, clock);
  } finally {
    await store.close();
  }
}

function sqlitePath(environment: NodeJS.ProcessEnv, instead: string): string {
  const { database } = readConfig(environment);
  if (database.kind === 'sqlite') return database.path;
  const message = 'This command is for SQLite, and SVC_DATABASE_URL names a PostgreSQL database.';
  throw new SvcError('usage', message, {
    hint: `Use ${instead}; see docs/operations.md.`,
  });
}

function databaseAt(environment: NodeJS.ProcessEnv, url: string): DatabaseConfig {
  if (!/^(sqlite|postgres(ql)?):/.test(url)) throw wrongAddresses();
  return readConfig({ ...environment, SVC_DATABASE_URL: url }).database;
}

function wrongAddresses(): SvcError {
  return new SvcError('usage', '--from must be sqlite:PATH, and --to must be postgres://….');
}

/** The name of a database for output, without user and password. */
function nameOf(database: DatabaseConfig): string {
  if (database.kind === 'sqlite') return database.path;
  const { host, pathname } = new URL(database.url);
  return `PostgreSQL, ${host}${pathname}`;
}
