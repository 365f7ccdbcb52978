import path from 'node:path';
import { SvcError } from '../../base/svc-error.ts';
import { readConfig } from '../config.ts';
import { migratePostgres } from '../store/postgres/migrate-database.ts';
import { backupDatabase } from '../store/sqlite/backup.ts';
import { migrateDatabase } from '../store/sqlite/migrate-database.ts';
import { restoreDatabase } from '../store/sqlite/restore.ts';
import { nameOf, withStore } from './with-store.ts';

interface Output {
  json?: boolean;
}

/** `svc-server backup FILE`: a verified copy of the database, beside a server that may run. */
export function backup(environment: NodeJS.ProcessEnv, file: string, { json }: Output): void {
  const databasePath = sqlitePath(environment, 'pg_dump');
  const target = path.resolve(file);
  const { bytes, removed } = backupDatabase(databasePath, target);
  for (const left of removed) {
    process.stderr.write(`${left}: removed, left by a backup that was killed.\n`);
  }
  print(json, { file: target, bytes }, `${target}: ${bytes} bytes, verified.`);
}

/** `svc-server restore FILE`: puts a backup in the place of the database, its queue held. */
export function restore(
  environment: NodeJS.ProcessEnv,
  file: string,
  { json, force = false }: Output & { force?: boolean },
): void {
  const databasePath = sqlitePath(environment, 'pg_restore, then svc-server hold');
  const aside = restoreDatabase({
    databasePath,
    file: path.resolve(file),
    force,
    now: Date.now(),
  });
  const lines = [
    `${databasePath}: restored. Nothing is anchored until svc-server reconcile.`,
    ...(aside === null ? [] : [`The database before it is ${aside}.`]),
  ];
  print(json, { database: databasePath, set_aside: aside }, lines.join('\n'));
}

/** `svc-server migrate`: brings the schema up to date without starting. */
export async function migrate(environment: NodeJS.ProcessEnv, { json }: Output): Promise<void> {
  const { database } = readConfig(environment);
  const schema =
    database.kind === 'sqlite'
      ? migrateDatabase(database.path, Date.now())
      : await migratePostgres(database);
  const name = nameOf(database);
  print(json, { database: name, schema }, `${name}: schema ${schema}.`);
}

/** `svc-server hold`: for a database that was put back by other means than `restore`. */
export async function hold(environment: NodeJS.ProcessEnv, options: Output): Promise<void> {
  await withStore(environment, options, (store) => store.holdQueue(Date.now()));
  print(options.json, { held: true }, 'Nothing is anchored until svc-server reconcile.');
}

function sqlitePath(environment: NodeJS.ProcessEnv, instead: string): string {
  const { database } = readConfig(environment);
  if (database.kind === 'sqlite') return database.path;
  throw new SvcError('usage', 'The database is PostgreSQL, which has its own tools for that.', {
    hint: `Use ${instead}; docs/operations.md has an example.`,
  });
}

function print(json: boolean | undefined, data: object, text: string): void {
  process.stdout.write(`${json ? JSON.stringify(data) : text}\n`);
}
