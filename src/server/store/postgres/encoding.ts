import { SvcError } from '../../../base/svc-error.ts';
import type { Connections } from './connections.ts';
import { sql } from './sql.ts';

const readEncoding = sql(`SELECT current_setting('server_encoding') AS encoding`);

/**
 * Robots and accounts write in any language: another encoding would refuse some of what they send, again and again.
 *
 * @throws SvcError `database_unusable`.
 */
export async function requireUtf8(connections: Connections): Promise<void> {
  const row = await connections.use((connection) =>
    connection.first<{ encoding: string }>(readEncoding),
  );
  if (row?.encoding === 'UTF8') return;
  throw new SvcError(
    'database_unusable',
    `The PostgreSQL database has the encoding ${row?.encoding}, and it must be UTF8.`,
    { hint: `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0 makes one that has it.` },
  );
}
