import pg from 'pg';
import type { Store } from '../../../src/server/ports/store.ts';
import { World } from '../../contract/world.ts';
import { waitFor } from '../../support/wait-for.ts';
import { openTemporaryPostgres, type TemporaryPostgresOptions } from './temporary-postgres.ts';

/** Several instances on one database, of which the world's is the first. */
export interface Instances {
  world: World;
  /** Of their database. */
  url: string;
  stores: [Store, Store, ...Store[]];
  /** A connection of the test only: holds locks, and reads tables. */
  session: pg.Client;
  /** Resolves when so many statements wait for locks. */
  blocked(count: number): Promise<true>;
  close(): Promise<void>;
}

export async function openInstances(
  count: number,
  options: TemporaryPostgresOptions = {},
): Promise<Instances> {
  const others: Store[] = [];
  let url = '';
  const world = await World.open(async (clock) => {
    const opened = await openTemporaryPostgres(clock, options);
    ({ url } = opened);
    for (let i = 1; i < count; i += 1) others.push(await opened.another());
    return opened;
  });
  const session = new pg.Client({ connectionString: url });
  const watcher = new pg.Client({ connectionString: url });
  await Promise.all([session.connect(), watcher.connect()]);
  const [second, ...rest] = others;
  if (second === undefined) throw new Error('One instance is not several');
  return {
    world,
    url,
    stores: [world.store, second, ...rest],
    session,
    blocked: (statements) =>
      waitFor(`${statements} statements to wait for locks`, async () => {
        const { rowCount } = await watcher.query(
          `SELECT FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return rowCount === statements;
      }),
    async close() {
      await Promise.all([session.end(), watcher.end()]);
      await Promise.all(others.map((store) => store.close()));
      await world.close();
    },
  };
}

/** Calls of one instance at once: a call that waits for a connection is refused after 5 s. */
const CALLS_AT_ONCE = 8;

/** `count` calls, as many at once as the instances answer, spread over them. */
export async function spread<T>(
  { stores }: Instances,
  count: number,
  call: (store: Store, i: number) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const work = async (store: Store) => {
    while (next < count) {
      const i = next++;
      results[i] = await call(store, i);
    }
  };
  const workers = Array.from({ length: CALLS_AT_ONCE }, () => stores).flat();
  await Promise.all(workers.map(work));
  return results;
}

/** How often each outcome came, by its name. */
export function aggregate(
  outcomes: readonly (string | { outcome: string })[],
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) {
    const name = typeof outcome === 'string' ? outcome : outcome.outcome;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
