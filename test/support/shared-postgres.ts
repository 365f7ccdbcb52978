import { createDatabase, type TemporaryDatabase } from './temporary-database.ts';
import { askRun } from './test-run.ts';

interface SharedPostgres {
  url: string;
  /** Name of a database with the schema, to copy: that is quicker than to make it. */
  template: string;
}

let asked: Promise<SharedPostgres> | undefined;

/** The PostgreSQL server of this run: `TEST_POSTGRES_URL`, or one from npm that starts when a test first asks. */
export function sharedPostgres(): Promise<SharedPostgres> {
  asked ??= askRun<SharedPostgres>('postgres');
  return asked;
}

/** An empty database. */
export async function emptyDatabase(): Promise<TemporaryDatabase> {
  return createDatabase((await sharedPostgres()).url);
}

/** A database with the schema and nothing else, for a test that changes more than rows. */
export async function copyDatabase(): Promise<TemporaryDatabase> {
  const { url, template } = await sharedPostgres();
  const database = await createDatabase(url, template);
  await database.execute(
    'UPDATE cursor_key SET key = uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())',
  );
  return database;
}

const returned: TemporaryDatabase[] = [];

/**
 * As `copyDatabase`, for a test that changes rows alone: `drop` deletes them and keeps the database for the next test
 * of this worker. That takes 4 ms; a copy and its end take 180.
 */
export async function borrowDatabase(): Promise<TemporaryDatabase> {
  const database = returned.pop() ?? (await copyDatabase());
  let isReturned = false;
  return {
    ...database,
    async drop() {
      if (isReturned) return;
      isReturned = true;
      // A session that a failed test left open may hold locks.
      const isFree = await database.execute(deleteRows).then(
        () => true,
        () => false,
      );
      if (isFree) returned.push(database);
      else await database.drop();
    },
  };
}

/** As a replica, where no trigger runs and no order of the tables matters. Fails where a row is locked. */
const deleteRows = `DO $$
  DECLARE one regclass;
  BEGIN
    SET LOCAL lock_timeout = '2s';
    SET LOCAL session_replication_role = replica;
    FOR one IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace
      AND relkind IN ('r', 'p') AND NOT relispartition
      AND relname NOT IN ('svc_schema', 'cursor_key', 'challenge_key', 'queue_round')
    LOOP EXECUTE format('DELETE FROM %s', one); END LOOP;
    UPDATE queue_round SET round = 0;
  END $$`;
