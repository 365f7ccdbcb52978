// Opens the store of the configured database, and moves a service from SQLite to PostgreSQL.

import type { Clock } from '../../base/clock.ts';
import type { DatabaseConfig } from '../config.ts';
import type { Store } from '../ports/store.ts';
import type { StorageLimits } from '../rules/storage.ts';
import type { ConnectionOptions } from './postgres/engine/connections.ts';
import { type ImportProgress, importTables } from './postgres/engine/import.ts';
import { openExport } from './sqlite/files/export.ts';

interface OpenStoreOptions {
  clock: Clock;
  /** True for a server, which creates and migrates the database; false for a command that runs next to a server. */
  serves: boolean;
  /** Called once, when disk, file or schema can no longer be trusted; the process should end. */
  onFatal?: (error: Error) => void;
  /** Called after each commit; `seconds` covers the work in it. */
  onCommit?: (commit: { writes: number; seconds: number }) => void;
  /** PostgreSQL only: called after each attempt to create partitions ahead, with the error or `null`. */
  onPartitions?: (error: unknown) => void;
  /** SQLite only: `hasRoom` answers false below this many free bytes. Default: 0. */
  minFreeBytes?: number;
  /** Default: no quotas. */
  storage?: StorageLimits;
}

/** Opens the store and loads only the driver of its database. @throws SvcError as the opener of that database. */
export async function openStore(
  database: DatabaseConfig,
  options: OpenStoreOptions,
): Promise<Store> {
  if (database.kind === 'sqlite') {
    const { openSqliteStore } = await import('./sqlite/open-store.ts');
    return openSqliteStore({
      onFatal: () => {},
      ...options,
      ...database,
      exclusive: options.serves,
    });
  }
  const { openPostgresStore } = await import('./postgres/open-store.ts');
  return openPostgresStore({ ...options, ...database });
}

/**
 * Moves a service from SQLite to PostgreSQL and returns the number of rows moved. No server may use either database
 * meanwhile. `target` names the PostgreSQL database without its password.
 *
 * @throws SvcError as `openExport` and `importTables`. The SQLite database stays usable, unless the outcome of the
 *   commit is unknown.
 */
export async function migrateStore(
  from: { path: string },
  to: ConnectionOptions & { target: string },
  onProgress: (at: ImportProgress) => void,
): Promise<number> {
  const source = openExport(from.path, to.target);
  try {
    return await importTables(to, source, onProgress);
  } finally {
    source.close();
  }
}
