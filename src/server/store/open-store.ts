// Opens the store of the configured database, and moves a service from SQLite to PostgreSQL.

import type { DatabaseConfig } from '../config.ts';
import type { Store } from '../ports/store.ts';
import type { ConnectionOptions } from './postgres/engine/connections.ts';
import { type ImportProgress, importTables } from './postgres/engine/import.ts';
import type { PostgresStoreOptions } from './postgres/open-store.ts';
import { openExport } from './sqlite/files/export.ts';
import type { SqliteStoreOptions } from './sqlite/open-store.ts';

/** Without `onFatal`, the failure of disk, file or schema is only seen in the errors of calls. */
type OpenStoreOptions = Pick<
  SqliteStoreOptions,
  'clock' | 'serves' | 'onCommit' | 'onWarning' | 'minFreeBytes' | 'storage'
> &
  Partial<Pick<SqliteStoreOptions, 'onFatal'>> &
  Pick<PostgresStoreOptions, 'onPartitions'>;

/** Opens the store and loads only the driver of its database. @throws SvcError as the opener of that database. */
export async function openStore(
  database: DatabaseConfig,
  options: OpenStoreOptions,
): Promise<Store> {
  if (database.kind === 'sqlite') {
    const { openSqliteStore } = await import('./sqlite/open-store.ts');
    return openSqliteStore({ onFatal: () => {}, ...options, ...database });
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
