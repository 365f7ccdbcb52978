import path from 'node:path';
import Database from 'better-sqlite3';
import pg from 'pg';
import { testStore } from './open-test-store.ts';
import { emptyDatabase } from './shared-postgres.ts';

/** What a server of this run keeps its data in, and commands beside it; on SQLite a file of its data folder. */
export interface ServerDatabase {
  environment: Record<string, string>;
  /** The first column of the first row of a query that both databases understand. */
  value(query: string): Promise<unknown>;
  drop(): Promise<void>;
}

export async function createServerDatabase(dataDir: string): Promise<ServerDatabase> {
  return testStore === 'postgres' ? onPostgres() : onSqlite(dataDir);
}

function onSqlite(dataDir: string): ServerDatabase {
  return {
    environment: {},
    async value(query) {
      const db = new Database(path.join(dataDir, 'svc.db'), { readonly: true });
      const value = db.prepare(query).pluck().get();
      db.close();
      return value;
    },
    async drop() {},
  };
}

async function onPostgres(): Promise<ServerDatabase> {
  const { url, drop } = await emptyDatabase();
  return {
    environment: { SVC_DATABASE_URL: url },
    async value(query) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const { rows } = await client.query({ text: query, rowMode: 'array' });
      await client.end();
      return rows[0]?.[0];
    },
    drop,
  };
}
