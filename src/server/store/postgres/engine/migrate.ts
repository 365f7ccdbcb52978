import { setTimeout as delay } from 'node:timers/promises';
import { SvcError } from '../../../../base/svc-error.ts';
import type { Connection, Connections } from './connections.ts';
import { PostgresError } from './errors.ts';
import { sql } from './sql.ts';

export interface Migration {
  sql: string;
  /**
   * The lowest schema whose version of svc-server still works with this one: two versions run side by side while
   * instances are replaced. Expand first, contract in a later version.
   */
  worksFrom: number;
}

export interface SchemaRow {
  version: number;
  works_from: number;
}

/** Of all migrations of this service; any number that nobody else takes. */
const LOCK = 7_383_920_117;

/** How long a migration waits for a table, in ms: everybody else waits behind it. */
const TABLE_MS = 1_000;
const ATTEMPTS = 100;
const REST_MS = 1_000;
/** How long one step may take and others wait for it, in ms. */
const PATIENCE_MS = 24 * 60 * 60_000;
/** One that hangs between two statements is undone by the server, so that the next goes on. */
const HANGS_MS = 60_000;

// The limits of a session are for requests: neither to wait for one's turn nor a migration is one.
const TAKE_TURN = `BEGIN;
  SET LOCAL statement_timeout = 0;
  SET LOCAL idle_in_transaction_session_timeout = ${HANGS_MS};
  SET LOCAL lock_timeout = 0;
  SELECT pg_advisory_xact_lock(${LOCK});
  SET LOCAL lock_timeout = ${TABLE_MS}`;

const findTable = sql(`SELECT to_regclass('svc_schema') IS NOT NULL AS made,
  to_regclass('accounts') IS NOT NULL OR to_regclass('robots') IS NOT NULL AS foreign`);
const readVersion = sql('SELECT version, works_from FROM svc_schema');
const saveVersion = sql('UPDATE svc_schema SET version = $1, works_from = $2');

/**
 * Brings the schema up to date, each step in a transaction; instances that start meanwhile wait for it. Instances of
 * the version before go on: a step that is in their way gives up its locks soon and begins again. Answers the
 * schema's version.
 *
 * @throws SvcError `schema_too_new` or `database_foreign`.
 */
export async function migrate(
  connections: Connections,
  migrations: readonly Migration[],
): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const version = await connections.use((connection) => step(connection, migrations));
      if (version >= migrations.length) return version;
      attempt = 0;
    } catch (error) {
      const isConflict = error instanceof PostgresError && error.kind === 'conflict';
      if (!isConflict || attempt === ATTEMPTS) throw error;
      await delay(Math.random() * 2 * REST_MS);
    }
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
  try {
    await connection.execute(TAKE_TURN, PATIENCE_MS);
    const version = await versionOf(connection, migrations.length);
    const migration = migrations[version];
    if (migration !== undefined) {
      if (version === 0) await connection.execute(VERSION_TABLE);
      await connection.execute(migration.sql, PATIENCE_MS);
      await connection.run(saveVersion, [version + 1, migration.worksFrom]);
    }
    await connection.execute('COMMIT');
    return migration === undefined ? version : version + 1;
  } catch (error) {
    const isLost = error instanceof PostgresError && error.kind === 'lost';
    if (!isLost) await connection.execute('ROLLBACK');
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
  const row = await connection.first<SchemaRow>(readVersion);
  if (row === undefined) throw new SvcError('database_foreign', 'The database has no version.');
  requireKnown(row, known);
  return row.version;
}

/** @throws SvcError `schema_too_new`: the schema has changed so much that this version must not use it. */
export function requireKnown({ version, works_from }: SchemaRow, known: number): void {
  if (works_from <= known) return;
  throw new SvcError(
    'schema_too_new',
    `The database has schema ${version}; this version knows schemas up to ${known}.`,
    { hint: 'Use the version of svc-server that wrote it, or a newer one.' },
  );
}
