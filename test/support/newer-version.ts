import { openConnections } from '../../src/server/store/postgres/engine/connections.ts';
import { migrate } from '../../src/server/store/postgres/engine/migrate.ts';
import { migrations } from '../../src/server/store/postgres/migrations.ts';

/** What a later version may do while this one runs: a column more in every table, and a table and an index more. */
export const addColumns = `
  DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT relname FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
      ORDER BY 1
    LOOP EXECUTE format('ALTER TABLE %I ADD COLUMN added_later text', name); END LOOP;
  END $$;
  CREATE TABLE tables_later (id integer PRIMARY KEY);
  CREATE INDEX index_later ON robots (added_later)`;

/** Brings the database to the schema of a version after this one, which works with versions from `worksFrom` on. */
export async function migrateFurther(
  url: string,
  { sql, worksFrom }: { sql: string; worksFrom: number },
): Promise<number> {
  const connections = openConnections({ url, poolMax: 1, pooler: false });
  try {
    return await migrate(connections, [...migrations, { sql, worksFrom }]);
  } finally {
    await connections.close();
  }
}

/** The schema of this version. */
export const schemaVersion = migrations.length;
