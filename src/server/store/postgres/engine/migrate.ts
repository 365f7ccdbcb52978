// Upgrades the schema while instances of the previous version keep running.

import { setTimeout as delay } from 'node:timers/promises';
import { SvcError } from '../../../../base/svc-error.ts';
import { schemaTooNew, schemaTooOld } from '../../../ports/errors.ts';
import { begin, type Connection, type Connections, sql } from './connections.ts';
import { isConflict, isLost } from './errors.ts';

export interface Migration {
  sql: string;
  /** Moves rows that SQL cannot read, after `sql` and in its transaction. */
  moveRows?: (connection: Connection) => Promise<void>;
  /**
   * The lowest schema version whose svc-server still works with this schema. Two versions run side by side while
   * instances are replaced, so expand first and contract in a later version.
   */
  worksFrom: number;
}

export interface SchemaRow {
  version: number;
  works_from: number;
}

/** The advisory lock of migrations: an arbitrary number, unique in this service. */
const LOCK = 7_383_920_117;

/** How long a migration waits for a table lock, in ms. All other statements queue behind it. */
const TABLE_MS = 1_000;
const ATTEMPTS = 100;
const REST_MS = 1_000;
/** How long one step may take, and how long other instances wait for it, in ms (24 hours). */
const PATIENCE_MS = 24 * 60 * 60_000;
/** The server undoes a migration that hangs between two statements for this time, so that the next one can run. */
const HANGS_MS = 60_000;

// Lifts the statement timeouts of requests for the wait and the migration.
const beginLocked = ({ ownSettings }: Connection) => `BEGIN;
  ${ownSettings};
  SET LOCAL statement_timeout = 0;
  SET LOCAL idle_in_transaction_session_timeout = ${HANGS_MS};
  SET LOCAL lock_timeout = 0;
  SELECT pg_advisory_xact_lock(${LOCK});
  SET LOCAL lock_timeout = ${TABLE_MS}`;

const VERSION_TABLE = `
  CREATE TABLE svc_schema (
    id integer PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    version integer NOT NULL,
    works_from integer NOT NULL
  );
  INSERT INTO svc_schema (version, works_from) VALUES (0, 0);
`;

const findTable = sql(`SELECT to_regclass('svc_schema') IS NOT NULL AS made,
  to_regclass('accounts') IS NOT NULL OR to_regclass('robots') IS NOT NULL AS foreign`);
const readVersion = sql('SELECT version, works_from FROM svc_schema');
const saveVersion = sql('UPDATE svc_schema SET version = $1, works_from = $2');

/**
 * Upgrades the schema, each step in a transaction, and returns its version. Instances that start meanwhile wait.
 * Instances of the previous version keep running: a step that cannot get its locks within `TABLE_MS` gives up and is
 * retried.
 *
 * @throws SvcError `schema_too_new` or `database_foreign`.
 */
export async function migrate(connections: Connections, migrations: readonly Migration[]) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const version = await connections.use((connection) => step(connection, migrations));
      if (version >= migrations.length) return version;
      attempt = 0;
    } catch (error) {
      if (!isConflict(error) || attempt === ATTEMPTS) throw error;
      await delay(Math.random() * 2 * REST_MS);
    }
  }
}

/**
 * Checks the schema for a command that runs next to a live server and must not migrate.
 *
 * @throws SvcError `schema_too_old`, `schema_too_new` or `database_foreign`.
 */
export async function requireSchema(connections: Connections, known: number): Promise<void> {
  const version = await connections.use(async (connection) => {
    await connection.execute(begin('READ ONLY', connection.ownSettings));
    try {
      return await versionOf(connection, known);
    } finally {
      await connection.execute('ROLLBACK');
    }
  });
  if (version >= known) return;
  throw schemaTooOld(version, known);
}

/** @throws SvcError `schema_too_new` if the schema is incompatible with this version of svc-server. */
export function requireKnown({ version, works_from }: SchemaRow, known: number): void {
  if (works_from > known) throw schemaTooNew(version, known);
}

async function step(connection: Connection, migrations: readonly Migration[]): Promise<number> {
  try {
    await connection.execute(beginLocked(connection), PATIENCE_MS);
    const version = await versionOf(connection, migrations.length);
    const migration = migrations[version];
    if (migration !== undefined) {
      if (version === 0) await connection.execute(VERSION_TABLE);
      await connection.execute(migration.sql, PATIENCE_MS);
      await migration.moveRows?.(connection);
      await connection.run(saveVersion, [version + 1, migration.worksFrom]);
    }
    await connection.execute('COMMIT');
    return migration === undefined ? version : version + 1;
  } catch (error) {
    if (!isLost(error)) await connection.execute('ROLLBACK');
    throw error;
  }
}

async function versionOf(connection: Connection, known: number): Promise<number> {
  const [table] = await connection.rows<{ made: boolean; foreign: boolean }>(findTable);
  if (table?.made !== true) {
    if (table?.foreign !== true) return 0;
    throw new SvcError('database_foreign', 'The database contains tables of another program.');
  }
  const [row] = await connection.rows<SchemaRow>(readVersion);
  if (row === undefined)
    throw new SvcError('database_foreign', 'The database has no schema version.');
  requireKnown(row, known);
  return row.version;
}
