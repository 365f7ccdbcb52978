import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { claimWork, completeAll, provenWork, readReceipts } from '../../support/anchored-work.ts';
import { anvilAccounts, startTestChain, type TestChain } from '../../support/anvil.ts';
import { scanAnchors } from '../../support/chain-scan.ts';
import { addColumns, migrateFurther, schemaVersion } from '../../support/newer-version.ts';
import { run, startServerProgram } from '../../support/programs.ts';
import { killServers, robotClient, signInAt, spawnServer } from '../../support/server-process.ts';
import { emptyDatabase } from '../../support/shared-postgres.ts';
import type { TemporaryDatabase } from '../../support/temporary-database.ts';
import { waitFor } from '../../support/wait-for.ts';

let chain: TestChain;
let folder: string;
let database: TemporaryDatabase;
let session: pg.Client;
let children: ChildProcess[];
beforeAll(async () => {
  chain = await startTestChain({ blockTime: 0.1 });
});
afterAll(() => chain?.close());

beforeEach(async () => {
  children = [];
  folder = await mkdtemp(path.join(tmpdir(), 'svc-versions-'));
  database = await emptyDatabase();
  session = new pg.Client({ connectionString: database.url });
  await session.connect();
});
afterEach(async () => {
  killServers();
  for (const child of children) child.kill('SIGKILL');
  await session.end();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

const environment = () => ({
  SVC_DATABASE_URL: database.url,
  SVC_DATA_DIR: folder,
  SVC_CHAIN_RPC_URL: chain.url,
  SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[0].privateKey,
});

async function start(): ReturnType<typeof startServerProgram> {
  const started = await startServerProgram(environment());
  children.push(started.child);
  return started;
}

async function value(query: string): Promise<unknown> {
  const { rows } = await session.query({ text: query, rowMode: 'array' });
  return rows[0]?.[0];
}

describe('next to a newer version that only adds columns and tables', () => {
  it('an instance serves during and after the migration of the newer one, and others start', async () => {
    const server = {
      dataDir: folder,
      rpcUrl: chain.url,
      environment: { SVC_DATABASE_URL: database.url },
    };
    const old = await spawnServer(server);
    await waitFor('its lease', () => old.passed.has('saveChainStatus:after'));
    // What it has prepared by now it must be able to use again.
    const before = await claimWork(old.url, 3);
    await completeAll(old.url, before);
    await readReceipts(old.url, before);
    const robot = robotClient(old.url, before.apiKey);
    const claims: Promise<number>[] = [];
    const claiming = setInterval(() => {
      // A robot has no more calls in a minute.
      if (claims.length === 300) return;
      const claim = robot.call('createTask', { body: { title: 'Sort' } });
      claims.push(claim.then(({ status }) => status));
    }, 50);

    const version = await migrateFurther(database.url, {
      sql: `${addColumns}; SELECT pg_sleep(0.5)`,
      worksFrom: schemaVersion,
    });

    clearInterval(claiming);
    expect(version).toBe(schemaVersion + 1);
    expect(new Set(await Promise.all(claims))).toEqual(new Set([201]));
    const other = await spawnServer(server);
    for (const { url } of [old, other]) {
      const work = await claimWork(url, 3);
      await completeAll(url, work);
      const receipts = await readReceipts(url, work);
      expect(provenWork(work, receipts, await scanAnchors(chain.url))).toEqual([true, true, true]);
    }
    const check = await run('svc-server', ['check'], { env: { SVC_DATABASE_URL: database.url } });
    expect(check.stdout).toBe('Every invariant holds.\n');
    expect(await value('SELECT version FROM svc_schema')).toBe(schemaVersion + 1);
    expect(await old.kill('SIGTERM')).toBe('0');
    expect(await other.kill('SIGTERM')).toBe('0');
  });

  it('the newer one waits for requests in progress, and delays none for long', async () => {
    const { url, child } = await start();
    const { owner } = await signInAt(url);
    await session.query('BEGIN; LOCK TABLE robots IN ACCESS SHARE MODE');

    const migrating = migrateFurther(database.url, { sql: addColumns, worksFrom: schemaVersion });
    await waitFor('it to wait for the table', () =>
      value(`SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`),
    );
    const made = await owner.call('createRobot', { body: { name: 'arm' } });
    await session.query('COMMIT');

    expect(made.status).toBe(201);
    expect(await migrating).toBe(schemaVersion + 1);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});

describe('after an incompatible newer version', () => {
  const breaking = {
    sql: 'ALTER TABLE robots RENAME COLUMN name TO title',
    worksFrom: schemaVersion + 1,
  };

  it('it refuses to start, with the reason', async () => {
    await run('svc-server', ['migrate'], { env: { SVC_DATABASE_URL: database.url } });
    await migrateFurther(database.url, breaking);

    const { exitCode, stderr } = await run('svc-server', ['start'], { env: environment() });

    expect(exitCode).toBe(1);
    expect(stderr).toContain(
      `svc-server: The database has schema ${schemaVersion + 1}; this version knows schemas up to ${schemaVersion}.
Use the version of svc-server that wrote the database, or a newer one.
`,
    );
  });

  it('a running instance accepts no more calls, and ends by itself', async () => {
    const { url, child } = await start();
    const { owner } = await signInAt(url);
    const log = text(child.stderr as Readable);
    await migrateFurther(database.url, breaking);

    // The first request makes it notice; without one, it does so within ten seconds.
    const ready = await fetch(`${url}/readyz`).then(
      ({ status }) => status,
      () => 'nothing listens',
    );
    const late = owner.call('createFleet', { body: { name: 'North hall' } });

    await expect(late).rejects.toMatchObject({
      code: expect.stringMatching(/^(storage_unavailable|service_unreachable)$/),
    });
    expect([503, 'nothing listens']).toContain(ready);
    if (child.exitCode === null) await once(child, 'exit');
    expect(child.exitCode).toBe(1);
    expect(await log).toContain('schema_too_new');
    expect(await value('SELECT count(*)::int FROM fleets')).toBe(0);
  });
});

describe('on an empty database', () => {
  it('one of two instances that start together migrates, and both serve', async () => {
    const started = await Promise.all([start(), start()]);

    for (const { url } of started) {
      const { owner } = await signInAt(url);
      expect((await owner.call('createRobot', { body: { name: 'arm' } })).status).toBe(201);
    }
    expect(await value('SELECT version FROM svc_schema')).toBe(schemaVersion);
    for (const { child } of started) {
      child.kill('SIGTERM');
      expect(await once(child, 'exit')).toEqual([0, null]);
    }
  });

  // Eight seconds: a request waits for a lock for five.
  it('an instance waits for a migration of another one that takes longer than any request may', async () => {
    const migrated = migrateFurther(database.url, {
      sql: 'SELECT pg_sleep(8)',
      worksFrom: schemaVersion,
    });
    await waitFor('the migration', () =>
      value(
        `SELECT count(*) > 0 FROM pg_stat_activity
       WHERE datname = current_database() AND query LIKE '%pg_sleep(8)'`,
      ),
    );

    const { child } = await start();

    expect(await value('SELECT version FROM svc_schema')).toBe(schemaVersion + 1);
    await migrated;
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});
