import { randomBytes } from 'node:crypto';
import pg from 'pg';

export interface TemporaryDatabase {
  name: string;
  url: string;
  /** One statement without values. */
  execute(statement: string): Promise<void>;
  drop(): Promise<void>;
}

/** An empty database on that server, whose user needs CREATEDB. */
export function createDatabase(server: string): Promise<TemporaryDatabase> {
  return create(server, '');
}

/** A database with the schema and nothing else, copied from one that nobody uses. */
export async function copyDatabase(server: string, template: string): Promise<TemporaryDatabase> {
  const database = await create(server, ` TEMPLATE ${template}`);
  await database.execute(
    'UPDATE cursor_key SET key = uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())',
  );
  return database;
}

async function create(server: string, from: string): Promise<TemporaryDatabase> {
  const name = `svc_test_${randomBytes(8).toString('hex')}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  await execute(server, `CREATE DATABASE ${name}${from}`);
  return {
    name,
    url: url.href,
    execute: (statement) => execute(url.href, statement),
    drop: () => execute(server, `DROP DATABASE ${name} WITH (FORCE)`),
  };
}

async function execute(server: string, statement: string): Promise<void> {
  const url = new URL(server);
  if (url.pathname === '' || url.pathname === '/') url.pathname = '/postgres';
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
