import type { Clock } from '../../base/clock.ts';
import type { DatabaseConfig } from '../config.ts';
import type { Store } from '../ports/store.ts';
import type { ConnectionOptions } from './postgres/engine/connections.ts';
import { type ImportProgress, importTables } from './postgres/engine/import.ts';
import { openExport } from './sqlite/files/export.ts';

export interface OpenStoreOptions {
  clock: Clock;
  /** True for a server, which makes and migrates the database; false for a command beside it. */
  serves: boolean;
  /** Called once, when disk, file or schema cannot be trusted any more; the process should end. */
  onFatal?: (error: Error) => void;
  /** Called after each commit; `seconds` covers the work in it. */
  onCommit?: (commit: { writes: number; seconds: number }) => void;
  /** Called after each try to make partitions ahead, with what it failed with or null; on PostgreSQL only. */
  onPartitions?: (fault: unknown) => void;
  /** Free bytes of the disk below which `hasRoom` says no; without a meaning on PostgreSQL. */
  minFreeBytes?: number;
}

/** The store of this database; only its own driver is loaded. Rejects as the stores' own functions do. */
export async function openStore(
  database: DatabaseConfig,
  { clock, serves, onFatal = () => {}, onCommit, onPartitions, minFreeBytes = 0 }: OpenStoreOptions,
): Promise<Store> {
  if (database.kind === 'sqlite') {
    const { openSqliteStore } = await import('./sqlite/open-store.ts');
    const { path } = database;
    return openSqliteStore({ path, clock, exclusive: serves, onFatal, onCommit, minFreeBytes });
  }
  const { openPostgresStore } = await import('./postgres/open-store.ts');
  return openPostgresStore({ ...database, serves, onFatal, onCommit, onPartitions });
}

/**
 * Moves a service from SQLite to PostgreSQL; no server uses either meanwhile. Answers how many rows were moved.
 * `target` names the database without a secret.
 *
 * @throws SvcError as `openExport` and `importTables`; the SQLite database stays usable then, unless the outcome is
 *   not known.
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
