import type { Clock } from '../../../src/base/clock.ts';
import type { Store } from '../../../src/server/ports/store.ts';
import {
  openPostgresStore,
  type PostgresStoreOptions,
} from '../../../src/server/store/postgres/open-store.ts';
import type { OpenedStore, StoreLimits } from '../../contract/world.ts';
import { borrowDatabase, copyDatabase } from '../../support/shared-postgres.ts';

export interface TemporaryPostgresOptions extends StoreLimits, Partial<PostgresStoreOptions> {
  /** Whether the test changes more than rows. */
  ownDatabase?: boolean;
}

/**
 * A server's store in a database of its own, which goes by the test's clock; `another` is that of another instance.
 * `via` answers the address by which the store comes to a database.
 */
export async function openTemporaryPostgres(
  clock: Clock,
  { ownDatabase = false, ...options }: TemporaryPostgresOptions = {},
  via: (url: string) => string = (url) => url,
): Promise<OpenedStore & { url: string; another(): Promise<Store> }> {
  const database = await (ownDatabase ? copyDatabase() : borrowDatabase());
  const open = (): Promise<Store> =>
    openPostgresStore({
      url: via(database.url),
      poolMax: 4,
      // Hundreds of calls share these connections, on a machine that may be busy.
      connectMs: 60_000,
      pooler: false,
      serves: true,
      instant: () => clock.now(),
      ...options,
    });
  let store = await open();
  return {
    store,
    url: database.url,
    another: open,
    async reopen() {
      await store.close();
      store = await open();
      return store;
    },
    async close() {
      await store.close();
      await database.drop();
    },
  };
}
