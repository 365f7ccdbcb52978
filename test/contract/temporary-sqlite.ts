import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/base/clock.ts';
import type { Store } from '../../src/server/ports/store.ts';
import {
  openSqliteStore,
  type SqliteStoreOptions,
} from '../../src/server/store/sqlite/open-store.ts';
import { copyEmptySqlite } from '../support/empty-sqlite.ts';
import type { OpenedStore, StoreLimits } from './world.ts';

export interface TemporarySqlite extends OpenedStore {
  path: string;
  /** What the store reported as fatal. */
  faults: Error[];
}

/** A server's store in a folder of its own. */
export async function openTemporarySqlite(
  clock: Clock,
  options: StoreLimits & Pick<SqliteStoreOptions, 'onCommit'> = {},
): Promise<TemporarySqlite> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-store-'));
  const path = join(folder, 'data', 'svc.db');
  await copyEmptySqlite(path);
  const faults: Error[] = [];
  const open = (): Promise<Store> =>
    openSqliteStore({
      path,
      clock,
      serves: true,
      onFatal: (error) => faults.push(error),
      ...options,
    });
  let store = await open();
  return {
    store,
    path,
    faults,
    async reopen() {
      await store.close();
      store = await open();
      return store;
    },
    async close() {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
