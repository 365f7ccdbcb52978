import type { TestProject } from 'vitest/node';
import { migratePostgres } from '../../src/server/store/postgres/migrate-database.ts';
import { startPostgres } from './postgres.ts';
import { createDatabase } from './temporary-database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
    /** Name of a database with the schema, to copy: that is quicker than to make it. */
    postgresTemplate: string;
  }
}

/** One server for the whole run: `TEST_POSTGRES_URL`, or one from npm that ends with it. */
export default async function sharePostgres(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.TEST_POSTGRES_URL;
  const server = given === undefined ? await startPostgres() : null;
  const url = given ?? server?.url ?? '';
  const template = await createDatabase(url);
  // Without partitions: those are of the clock of whoever opens it.
  await migratePostgres({ url: template.url, poolMax: 2, pooler: false });
  project.provide('postgresUrl', url);
  project.provide('postgresTemplate', template.name);
  return async () => {
    await template.drop();
    await server?.close();
  };
}
