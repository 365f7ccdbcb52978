import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Clock } from '../../src/base/clock.ts';
import type { Store } from '../../src/server/ports/store.ts';
import type { StorageLimits } from '../../src/server/rules/storage.ts';
import { openPostgresStore } from '../../src/server/store/postgres/open-store.ts';
import { openSqliteStore } from '../../src/server/store/sqlite/open-store.ts';
import { copyEmptySqlite } from './empty-sqlite.ts';
import { borrowDatabase } from './shared-postgres.ts';

export interface TestStore {
  store: Store;
  /** Closes it and removes what it left behind. */
  close(): Promise<void>;
}

/** What the tests of this run stand on: the same tests run on both, see vitest.config.ts. */
export const testStore: 'sqlite' | 'postgres' =
  process.env.TEST_STORE === 'postgres' ? 'postgres' : 'sqlite';

/** A server's store, empty; without quotas unless given. `disk` says what a SQLite file's disk has, in bytes. */
export async function openTestStore(
  clock: Clock,
  disk: { minFreeBytes?: number; freeBytes?: () => Promise<number> } = {},
  storage?: StorageLimits,
): Promise<TestStore> {
  if (testStore === 'postgres') return openOnPostgres(clock, storage);
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-store-'));
  const file = path.join(folder, 'svc.db');
  await copyEmptySqlite(file);
  const store = await openSqliteStore({
    path: file,
    clock,
    serves: true,
    ...disk,
    ...(storage && { storage }),
    onFatal: (error) => {
      throw error;
    },
  });
  return {
    store,
    async close() {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function openOnPostgres(clock: Clock, storage?: StorageLimits): Promise<TestStore> {
  const database = await borrowDatabase();
  const store = await openPostgresStore({
    url: database.url,
    poolMax: 6,
    pooler: false,
    serves: true,
    instant: () => clock.now(),
    ...(storage && { storage }),
  });
  return {
    store,
    async close() {
      await store.close();
      await database.drop();
    },
  };
}
