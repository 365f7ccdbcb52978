// Finds the schema of the service in its database, and connects to it.

import { SvcError } from '../../../../base/svc-error.ts';
import {
  begin,
  type ConnectionOptions,
  type Connections,
  openConnections,
  sql,
} from './connections.ts';
import { cannotUse } from './errors.ts';

interface Found {
  encoding: string;
  /** The schemas that have the tables of a service, also those that `search_path` hides. */
  used: string[];
  /** Where `CREATE TABLE` creates, as the operator set it; null where it would refuse to. */
  current: string | null;
}

const findSchemas = sql(`SELECT current_setting('server_encoding') AS encoding,
  current_schema()::text AS current,
  ARRAY(SELECT n.nspname::text FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = 'svc_schema' AND c.relkind = 'r' AND c.relpersistence <> 't' ORDER BY 1) AS used`);

/**
 * Connects to the schema that has the tables of the service, whatever `search_path` is: with another one, the service
 * would start again on empty tables, and anchor proofs twice. Where none has them, connects to the current schema.
 *
 * @throws SvcError `database_unusable`; `database_foreign` where several schemas have them.
 */
export async function openSchema(options: ConnectionOptions): Promise<Connections> {
  const plain = openConnections({ ...options, poolMax: 1 });
  try {
    const found = await plain.use(async (connection) => {
      await connection.execute(begin('READ ONLY', connection.ownSettings));
      const [row] = await connection.rows<Found>(findSchemas);
      await connection.execute('COMMIT');
      return row;
    });
    return openConnections(options, schemaOf(found as Found));
  } catch (error) {
    throw cannotUse(error);
  } finally {
    await plain.close();
  }
}

function schemaOf({ encoding, used, current }: Found): string | undefined {
  // Any other encoding rejects some of the texts that robots and accounts send.
  if (encoding !== 'UTF8') {
    throw new SvcError(
      'database_unusable',
      `The PostgreSQL database has the encoding ${encoding}; it must be UTF8.`,
      { hint: `Create one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.` },
    );
  }
  if (used.length > 1) {
    throw new SvcError(
      'database_foreign',
      `Several schemas of the PostgreSQL database have the tables of a service: ${used.join(', ')}.`,
      {
        hint: 'Give each service a database of its own, and drop or move the schemas that are copies.',
      },
    );
  }
  return used[0] ?? current ?? undefined;
}
