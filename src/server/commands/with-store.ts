import { systemClock } from '../../base/clock.ts';
import { type DatabaseConfig, readConfig } from '../config.ts';
import type { Store } from '../core/ports.ts';
import { openStore } from '../store/open-store.ts';

/** Opens the configured database beside a server that may run, for the length of `work`; `json` says nothing else. */
export async function withStore<Result>(
  environment: NodeJS.ProcessEnv,
  { json }: { json?: boolean },
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const { database } = readConfig(environment);
  if (!json) process.stderr.write(`Database: ${nameOf(database)}\n`);
  const store = await openStore(database, { clock: systemClock, serves: false });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Without user and password. */
export function nameOf(database: DatabaseConfig): string {
  if (database.kind === 'sqlite') return database.path;
  const { host, pathname } = new URL(database.url);
  return `PostgreSQL, ${host}${pathname}`;
}
