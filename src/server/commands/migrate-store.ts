import { SvcError } from '../../base/svc-error.ts';
import { type DatabaseConfig, readConfig } from '../config.ts';
import { migrateStore as moveStore } from '../store/migrate-store.ts';
import { nameOf } from './with-store.ts';

const REPORT_EVERY_MS = 2_000;

/** `svc-server migrate-store`: from SQLite to PostgreSQL, once. */
export async function migrateStore(
  environment: NodeJS.ProcessEnv,
  { from, to, json }: { from: string; to: string; json?: boolean },
): Promise<void> {
  const source = databaseAt(environment, from);
  const target = databaseAt(environment, to);
  if (source.kind !== 'sqlite' || target.kind !== 'postgres') throw wrongAddresses();
  const name = nameOf(target);
  let reportedAt = Date.now();
  const rows = await moveStore(source, { ...target, target: name }, ({ table, step, rows }) => {
    if (json || Date.now() - reportedAt < REPORT_EVERY_MS) return;
    reportedAt = Date.now();
    process.stderr.write(`${table}: ${rows} rows ${step === 'write' ? 'written' : 'compared'}\n`);
  });
  const text = [
    `${rows} rows moved to ${name}, each compared.`,
    `${source.path} is not used any more: set SVC_DATABASE_URL, and start svc-server.`,
  ];
  process.stdout.write(`${json ? JSON.stringify({ rows, target: name }) : text.join('\n')}\n`);
}

function databaseAt(environment: NodeJS.ProcessEnv, url: string): DatabaseConfig {
  if (!/^(sqlite|postgres(ql)?):/.test(url)) throw wrongAddresses();
  return readConfig({ ...environment, SVC_DATABASE_URL: url }).database;
}

function wrongAddresses(): SvcError {
  return new SvcError('usage', 'migrate-store moves from sqlite:PATH to postgres://….');
}
