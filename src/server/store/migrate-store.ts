import type { ConnectionOptions } from './postgres/connections.ts';
import { type ImportProgress, importTables } from './postgres/import.ts';
import { openExport } from './sqlite/export.ts';

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
