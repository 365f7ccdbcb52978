import fs from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { openPostgresStore } from '../../../src/server/store/postgres/open-store.ts';
import { writeHistory } from '../../contract/store-history.ts';
import { failsWith, newWallet, type World } from '../../contract/world.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Instances, openInstances } from './instances.ts';

let instances: Instances;
let world: World;

beforeEach(async () => {
  instances = await openInstances(2, { poolMax: 1, ownDatabase: true });
  world = instances.world;
});
afterEach(() => instances.close());

it('stay available to others, however many readiness checks run', async () => {
  const { session, blocked } = instances;
  const store = await anotherStore({ poolMax: 2 });
  await session.query('BEGIN; UPDATE svc_schema SET version = version');
  const probes = Array.from({ length: 20 }, () => store.probe());
  await blocked(1);

  expect(await store.getBalance(newWallet())).toBeNull();

  await session.query('COMMIT');
  await Promise.all(probes);
});

it('are not reused if the server became a standby', async () => {
  const { session } = instances;
  const setDatabase = (change: string) =>
    session.query(
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I ${change}', current_database()); END $$`,
    );
  await setDatabase('SET default_transaction_read_only = on');
  const store = await anotherStore({ poolMax: 1 });
  await expect(store.countChallenge(newWallet(), null)).rejects.toMatchObject(
    failsWith('storage_unavailable'),
  );

  await setDatabase('RESET default_transaction_read_only');

  expect((await store.countChallenge(newWallet(), null)).count).toMatchObject({ allowed: true });
});

it('are not reused if a commit was not answered', async () => {
  const { session } = instances;
  await session.query(`
    CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_sleep(12); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER hang_at_commit AFTER INSERT ON fleets
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hang()`);
  const wallet = await world.account();
  // Longer than anything is tried again.
  const store = await anotherStore({ poolMax: 1, parameters: '?query_timeout=4000' });
  await expect(store.createFleet(world.newFleet(wallet))).rejects.toMatchObject(
    failsWith('storage_unavailable'),
  );

  expect(await store.listFleets(wallet, 10, null)).toEqual([]);
});

it('keep their prepared statements if a newer version adds columns to every table', async () => {
  await writeHistory(world);

  await instances.session.query(`DO $$ DECLARE one regclass; BEGIN
    FOR one IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace
      AND relkind IN ('r', 'p') AND NOT relispartition LOOP
      EXECUTE format('ALTER TABLE %s ADD COLUMN later integer', one);
    END LOOP; END $$`);

  await writeHistory(world);
});

it('are made again once a missing certificate is back, even if notifications failed meanwhile', async () => {
  const { session } = instances;
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-certificate-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'root.pem');
  await writeFile(file, '');
  const store = await anotherStore({
    poolMax: 1,
    parameters: `?sslmode=disable&sslrootcert=${file}`,
  });
  const reads = vi.spyOn(fs, 'readFileSync');
  onTestFinished(() => reads.mockRestore());
  const looks = () => reads.mock.calls.filter(([read]) => read === file).length;

  await rm(file);
  await session.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'svc-server'`);
  await expect(store.countChallenge(newWallet(), null)).rejects.toMatchObject(
    failsWith('storage_unavailable'),
  );
  const before = looks();
  await waitFor('the one who listens to look for it', () => looks() > before);
  await writeFile(file, '');

  expect((await store.countChallenge(newWallet(), null)).count).toMatchObject({ allowed: true });
  await waitFor('all to listen', async () => {
    const { rowCount } = await session.query(`SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND query = 'LISTEN svc_notifications' AND state = 'idle'`);
    return rowCount === 3;
  });
});

it('are refused for a database that cannot store every text', async () => {
  const { session, url } = instances;
  const other = new URL(url);
  other.pathname += '_latin1';
  const name = other.pathname.slice(1);
  await session.query(
    `CREATE DATABASE ${name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
  );

  const opening = openPostgresStore({ url: other.href, poolMax: 1, pooler: false, serves: true });

  await expect(opening).rejects.toMatchObject({
    code: 'database_unusable',
    message: expect.stringContaining('encoding LATIN1'),
  });
  await session.query(`DROP DATABASE ${name}`);
});

async function anotherStore({
  poolMax,
  parameters = '',
}: {
  poolMax: number;
  parameters?: string;
}) {
  const store = await openPostgresStore({
    url: `${instances.url}${parameters}`,
    poolMax,
    pooler: false,
    serves: true,
  });
  onTestFinished(() => store.close());
  return store;
}
