import path from 'node:path';
import { readConfig } from '../config.ts';
import { backupDatabase } from '../store/sqlite/backup.ts';
import { migrateDatabase } from '../store/sqlite/migrate-database.ts';
import { restoreDatabase } from '../store/sqlite/restore.ts';

interface Output {
  json?: boolean;
}

/** `svc-server backup FILE`: a verified copy of the database, beside a server that may run. */
export function backup(environment: NodeJS.ProcessEnv, file: string, { json }: Output): void {
  const { databasePath } = readConfig(environment);
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
  const { databasePath } = readConfig(environment);
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
export function migrate(environment: NodeJS.ProcessEnv, { json }: Output): void {
  const { databasePath } = readConfig(environment);
  const schema = migrateDatabase(databasePath, Date.now());
  print(json, { database: databasePath, schema }, `${databasePath}: schema ${schema}.`);
}

function print(json: boolean | undefined, data: object, text: string): void {
  process.stdout.write(`${json ? JSON.stringify(data) : text}\n`);
}
