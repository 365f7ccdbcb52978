import { systemClock } from '../../base/clock.ts';
import { readConfig } from '../config.ts';
import type { Store } from '../core/ports.ts';
import { openSqliteStore } from '../store/sqlite/open-store.ts';

/** Opens the configured database beside a server that may run, for the length of `work`; `json` says nothing else. */
export async function withStore<Result>(
  environment: NodeJS.ProcessEnv,
  { json }: { json?: boolean },
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const path = readConfig(environment).databasePath;
  if (!json) process.stderr.write(`Database: ${path}\n`);
  const store = await openSqliteStore({
    path,
    clock: systemClock,
    exclusive: false,
    // The call under way rejects, and the process ends with it.
    onFatal: () => {},
  });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
