import { SvcError } from '../../../base/svc-error.ts';
import type { Connection, Connections } from './connections.ts';
import { sql } from './sql.ts';

export interface Migration {
  sql: string;
  /**
   * The lowest schema whose version of svc-server still works with this one: two versions run side by side while
   * instances are replaced. Expand first, contract in a later version.
   */
  worksFrom: number;
}

/** Of all migrations of this service; any number that nobody else takes. */
const LOCK = 7_383_920_117;

const findTable = sql(`SELECT to_regclass('svc_schema') IS NOT NULL AS made,
  to_regclass('accounts') IS NOT NULL OR to_regclass('robots') IS NOT NULL AS foreign`);
const readVersion = sql('SELECT version, works_from FROM svc_schema');
const saveVersion = sql('UPDATE svc_schema SET version = $1, works_from = $2');

/**
 * Brings the schema up to date, each step in a transaction; instances that start meanwhile wait for it. Answers the
 * schema's version.
 *
 * @throws SvcError `schema_too_new` or `database_foreign`.
 */
export async function migrate(
  connections: Connections,
  migrations: readonly Migration[],
): Promise<number> {
  for (;;) {
    const version = await connections.use((connection) => step(connection, migrations));
    if (version >= migrations.length) return version;
  }
}

/**
 * For a command that works beside a live server and so must not migrate.
 *
 * @throws SvcError `schema_too_old`, `schema_too_new` or `database_foreign`.
 */
export async function requireSchema(connections: Connections, known: number): Promise<void> {
  const version = await connections.use((connection) => versionOf(connection, known));
  if (version >= known) return;
  throw new SvcError(
    'schema_too_old',
    `The database has schema ${version}; this version works with schema ${known}.`,
    { hint: 'svc-server migrate of this version brings the schema up to date.' },
  );
}

async function step(connection: Connection, migrations: readonly Migration[]): Promise<number> {
  await connection.execute(`BEGIN; SELECT pg_advisory_xact_lock(${LOCK})`);
  try {
    const version = await versionOf(connection, migrations.length);
    const migration = migrations[version];
    if (migration !== undefined) {
      if (version === 0) await connection.execute(VERSION_TABLE);
      await connection.execute(migration.sql);
      await connection.run(saveVersion, [version + 1, migration.worksFrom]);
    }
    await connection.execute('COMMIT');
    return migration === undefined ? version : version + 1;
  } catch (error) {
    await connection.execute('ROLLBACK');
    throw error;
  }
}

const VERSION_TABLE = `
  CREATE TABLE svc_schema (
    id integer PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    version integer NOT NULL,
    works_from integer NOT NULL
  );
  INSERT INTO svc_schema (version, works_from) VALUES (0, 0);
`;

async function versionOf(connection: Connection, known: number): Promise<number> {
  const table = await connection.first<{ made: boolean; foreign: boolean }>(findTable);
  if (table?.made !== true) {
    if (table?.foreign !== true) return 0;
    throw new SvcError('database_foreign', 'The database holds tables that are not of svc-server.');
  }
  const row = await connection.first<{ version: number; works_from: number }>(readVersion);
  if (row === undefined) throw new SvcError('database_foreign', 'The database has no version.');
  if (row.works_from > known) {
    throw new SvcError(
      'schema_too_new',
      `The database has schema ${row.version}; this version knows schemas up to ${known}.`,
      { hint: 'Use the version of svc-server that wrote it, or a newer one.' },
    );
  }
  return row.version;
}
