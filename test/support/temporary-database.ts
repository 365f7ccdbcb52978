import { randomBytes } from 'node:crypto';
import pg from 'pg';

export interface TemporaryDatabase {
  name: string;
  url: string;
  /** One statement without values. */
  execute(statement: string): Promise<void>;
  drop(): Promise<void>;
}

/** Each database of one run begins with this. */
const prefix = () => `svc_test_${process.env.TEST_RUN_ID ?? 'alone'}_`;

/** A database on that server, whose user needs CREATEDB: a copy of the template, or an empty one. */
export async function createDatabase(
  server: string,
  template = 'template1',
): Promise<TemporaryDatabase> {
  const name = `${prefix()}${randomBytes(8).toString('hex')}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  await query(server, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  return {
    name,
    url: url.href,
    execute: async (statement) => void (await query(url.href, statement)),
    drop: async () => void (await query(server, `DROP DATABASE ${name} WITH (FORCE)`)),
  };
}

/** Drops what this run has left on a server that stays. */
export async function dropDatabases(server: string): Promise<void> {
  const { rows } = await query(
    server,
    `SELECT datname FROM pg_database WHERE starts_with(datname, '${prefix()}')`,
  );
  for (const { datname } of rows) await query(server, `DROP DATABASE ${datname} WITH (FORCE)`);
}

async function query(server: string, statement: string): Promise<pg.QueryResult> {
  const url = new URL(server);
  if (url.pathname === '' || url.pathname === '/') url.pathname = '/postgres';
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    return await client.query(statement);
  } finally {
    await client.end();
  }
}
