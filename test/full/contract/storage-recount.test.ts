import Database from 'better-sqlite3';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { openTemporarySqlite } from '../../contract/temporary-sqlite.ts';
import { type OpenedStore, World } from '../../contract/world.ts';
import { createTestClock } from '../../support/clock.ts';
import { openTemporaryPostgres } from './temporary-postgres.ts';

/** What a crash leaves: of one account the count was not saved, of another it is too high. */
const lose = (wallets: readonly string[]) => [
  `DELETE FROM storage_usage WHERE wallet = '${wallets[0]}'`,
  `UPDATE storage_usage SET bytes = bytes + 1000 WHERE wallet = '${wallets[1]}'`,
];

async function corrects(opened: OpenedStore, execute: (sql: string[]) => Promise<void>) {
  const world = await World.open(async () => opened);
  const robots = [await world.robot(), await world.robot()];
  for (const { id } of robots) await world.store.createTask(world.newTask(id, { title: 'Sweep' }));
  await world.reopen();
  await execute(lose(robots.map(({ wallet }) => wallet)));

  const corrected = await world.store.recountStorage();
  const again = await world.store.recountStorage();
  await world.close();

  expect(corrected).toEqual({ accounts: 2, bytes: 1_000 + 256 + 'Sweep'.length });
  expect(again).toEqual({ accounts: 0, bytes: 0 });
}

describe('a recount corrects the usage after a crash', () => {
  it('on SQLite', async () => {
    const opened = await openTemporarySqlite(createTestClock());
    await corrects(opened, async (statements) => {
      const db = new Database(opened.path);
      for (const statement of statements) db.exec(statement);
      db.close();
    });
  });

  it('on PostgreSQL', async () => {
    const opened = await openTemporaryPostgres(createTestClock());
    await corrects(opened, async (statements) => {
      const client = new pg.Client({ connectionString: opened.url });
      await client.connect();
      for (const statement of statements) await client.query(statement);
      await client.end();
    });
  });
});
