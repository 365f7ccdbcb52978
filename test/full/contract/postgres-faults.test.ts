import pg from 'pg';
import { expect, it } from 'vitest';
import { openConnections } from '../../../src/server/store/postgres/engine/connections.ts';
import { cannotUse } from '../../../src/server/store/postgres/engine/errors.ts';
import { failsWith } from '../../contract/world.ts';
import { copyDatabase } from '../../support/shared-postgres.ts';

it('reports tables that another session locks for too long', async () => {
  const database = await copyDatabase();
  const holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  await holder.query('BEGIN; SELECT FROM robots');
  const connections = openConnections({ url: database.url, poolMax: 1, pooler: false });

  const held = connections.use((connection) =>
    connection.execute(`BEGIN; SET LOCAL lock_timeout = '50ms'; LOCK TABLE robots`),
  );

  expect(cannotUse(await held.catch((error: unknown) => error))).toMatchObject({
    ...failsWith('database_unusable'),
    message: expect.stringContaining('lock timeout'),
    hint: expect.stringContaining('locks its tables'),
  });
  await connections.close();
  await holder.end();
  await database.drop();
});
