import { type ConnectionOptions, openConnections } from './connections.ts';
import { requireUtf8 } from './encoding.ts';
import { cannotUse } from './faults.ts';
import { migrate } from './migrate.ts';
import { migrations } from './migrations/migrations.ts';

/**
 * Brings the database up to date, as a start does, without starting; also while instances of the version before
 * run. Answers the schema's version.
 *
 * @throws SvcError `database_unusable`, `schema_too_new`, `database_foreign`.
 */
export async function migratePostgres(options: ConnectionOptions): Promise<number> {
  const connections = openConnections(options);
  try {
    await requireUtf8(connections);
    return await migrate(connections, migrations);
  } catch (error) {
    throw cannotUse(error);
  } finally {
    await connections.close();
  }
}
