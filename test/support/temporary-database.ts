import { randomBytes } from 'node:crypto';
import pg from 'pg';

export interface TemporaryDatabase {
  url: string;
  drop(): Promise<void>;
}

/** An empty database on that server, whose user needs CREATEDB. */
export async function createDatabase(server: string): Promise<TemporaryDatabase> {
  const name = `svc_test_${randomBytes(8).toString('hex')}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  await execute(server, `CREATE DATABASE ${name}`);
  return {
    url: url.href,
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
