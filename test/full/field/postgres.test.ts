// What administrators and poolers set on a PostgreSQL database, as it reaches the service.
import pg from 'pg';
import { v7 as uuid } from 'uuid';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { openConnections, sql } from '../../../src/server/store/postgres/engine/connections.ts';
import {
  migratePostgres,
  openPostgresStore,
} from '../../../src/server/store/postgres/open-store.ts';
import { World } from '../../contract/world.ts';
import { type Pooler, startPgBouncer } from '../../support/pooler.ts';
import { findProgram, needsProgram } from '../../support/require-program.ts';
import { copyDatabase, emptyDatabase, sharedPostgres } from '../../support/shared-postgres.ts';
import { startTransactionPooler } from '../../support/transaction-pooler.ts';

interface Row {
  name: string;
  /** Where it was reported: repository and number. */
  report: string;
  /** Settings of the database, in SQL. */
  set: string;
  /** The schema of the tables. Default: public. */
  schema?: string;
  /** `synchronous_commit` in transactions of the service. Default: on. */
  commits?: string;
}

const rows: Row[] = [
  {
    name: 'floats rounded to 15 digits',
    report: 'pgq/skytools-legacy 57, brianc/node-postgres 730',
    set: 'extra_float_digits = 0',
  },
  { name: 'floats rounded to 3 digits', report: 'of our own', set: 'extra_float_digits = -12' },
  { name: 'another time zone', report: 'of our own', set: `"TimeZone" = 'Asia/Kolkata'` },
  { name: 'days before months', report: 'of our own', set: `"DateStyle" = 'German, DMY'` },
  {
    name: 'intervals of the standard',
    report: 'of our own',
    set: `"IntervalStyle" = 'sql_standard'`,
  },
  { name: 'bytes with escapes', report: 'of our own', set: `bytea_output = 'escape'` },
  {
    name: 'another schema',
    report: 'pgbouncer/pgbouncer 425, 1176',
    set: 'search_path = other',
  },
  {
    name: 'another schema first, with tables of the same names',
    report: 'of our own',
    set: 'search_path = other, public',
  },
  {
    name: 'its tables in another schema',
    report: 'of our own',
    set: 'search_path = svc_s, public',
    schema: 'svc_s',
  },
  {
    name: 'its tables in a schema that no setting names, as after RESET search_path',
    report: 'of our own',
    set: 'search_path TO DEFAULT',
    schema: 'svc_s',
  },
  {
    name: 'its tables in a schema whose name needs quotes and escapes',
    report: 'of our own',
    set: `search_path = ''`,
    schema: `My "own" \\sch'ema; x`,
  },
  {
    name: 'no schema, as a restored dump leaves it',
    report: 'pgbouncer/pgbouncer 396',
    set: `search_path = ''`,
  },
  { name: 'commits that do not wait', report: 'of our own', set: 'synchronous_commit = off' },
  {
    name: 'commits that do not wait for a replica',
    report: 'of our own',
    set: 'synchronous_commit = local',
  },
  {
    name: 'commits that wait until a replica has applied them',
    report: 'of our own',
    set: 'synchronous_commit = remote_apply',
    commits: 'remote_apply',
  },
  {
    name: 'commits that wait until a replica has written them',
    report: 'of our own',
    set: 'synchronous_commit = remote_write',
    commits: 'remote_write',
  },
];

/** Notes `synchronous_commit` in each transaction that stores one of these. */
const NOTE = `
  CREATE SCHEMA other;
  CREATE TABLE other.robots (id integer);
  CREATE TABLE other.accounts (id integer);
  CREATE TABLE public.noted (what text, setting text);
  CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO public.noted VALUES (TG_TABLE_NAME, current_setting('synchronous_commit'));
    RETURN NEW; END $$;
  CREATE TRIGGER note BEFORE INSERT OR UPDATE ON public.tasks FOR EACH ROW EXECUTE FUNCTION public.note();
  CREATE TRIGGER note BEFORE INSERT OR UPDATE ON public.ledger FOR EACH ROW EXECUTE FUNCTION public.note();
  CREATE TRIGGER note BEFORE INSERT OR UPDATE ON public.proofs FOR EACH ROW EXECUTE FUNCTION public.note();
  CREATE TRIGGER note BEFORE INSERT OR UPDATE ON public.rate_counters FOR EACH ROW EXECUTE FUNCTION public.note()`;

describe('without a pooler', () => stores(null));

describe('behind a pooler that uses another session for each transaction', () =>
  stores(startTransactionPooler));

const pgbouncer = findProgram('pgbouncer');
if (pgbouncer === null) {
  it('behind PgBouncer', (context) => {
    needsProgram(context, 'pgbouncer');
  });
} else {
  describe('behind PgBouncer in transaction mode', () =>
    stores((server) => startPgBouncer(pgbouncer, server)));
}

function stores(start: ((server: string) => Promise<Pooler>) | null): void {
  let pooler: Pooler | null;
  beforeAll(async () => {
    pooler = start && (await start((await sharedPostgres()).url));
  });
  afterAll(() => pooler?.close());
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  async function open(
    prepare: (url: string) => Promise<void>,
    parameters = '',
  ): Promise<[World, string]> {
    const database = await copyDatabase();
    await query(database.url, NOTE);
    const url = `${pooler?.via(database.url) ?? database.url}${parameters}`;
    await prepare(database.url);
    const world = await World.open(async (clock) => {
      const store = await openPostgresStore({
        url,
        poolMax: 4,
        connectMs: 60_000,
        pooler: pooler !== null,
        serves: true,
        instant: () => clock.now(),
      });
      const close = () => store.close().then(database.drop);
      return { store, reopen: async () => store, close };
    });
    return [world, database.url];
  }

  it.each(rows)('stores and reads exactly with $name', async ({ set, schema, commits = 'on' }) => {
    const [world, url] = await open(async (at) => {
      const name = new URL(at).pathname.slice(1);
      for (const one of set.split('; ')) await query(at, `ALTER DATABASE ${name} SET ${one}`);
      if (schema !== undefined) await moveTables(at, schema);
    });

    await storesExactly(world);

    expect(await query(url, 'SELECT DISTINCT what, setting FROM public.noted ORDER BY 1')).toEqual(
      ['ledger', 'proofs', 'rate_counters', 'tasks'].map((what) => ({ what, setting: commits })),
    );
    await world.close();
  });

  const openAt = async (url: string, serves = true) =>
    openPostgresStore({
      url: pooler?.via(url) ?? url,
      poolMax: 2,
      connectMs: 60_000,
      pooler: pooler !== null,
      serves,
    });
  const schemasOf = async (url: string) =>
    (await query(url, SCHEMAS)).map((row) => Object.values(row)[0]);

  it.each([
    ['that search_path names', 'svc_s', 'ALTER DATABASE NAME SET search_path = svc_s, public'],
    ['named after the role', 'ROLE', ''],
    [
      'that a setting named first',
      'svc_s',
      'ALTER DATABASE NAME SET search_path = svc_none, svc_s',
    ],
  ])('creates its tables in the schema %s, and finds them after RESET', async (_, named, set) => {
    const database = await emptyDatabase();
    const name = new URL(database.url).pathname.slice(1);
    const [{ role }] = (await query(database.url, 'SELECT current_user AS role')) as [
      { role: string },
    ];
    const schema = named.replace('ROLE', role);
    await query(
      database.url,
      `CREATE SCHEMA ${pg.escapeIdentifier(schema)}; ${set.replace('NAME', name)}`,
    );

    if (pooler !== null) await changeSessions(pooler.via(database.url));
    await (await openAt(database.url)).close();
    expect(await schemasOf(database.url)).toEqual([schema]);
    await query(database.url, `ALTER DATABASE ${name} SET search_path = public`);
    await (await openAt(database.url)).close();
    await (await openAt(database.url, false)).close();
    await migratePostgres({ url: database.url, poolMax: 2, pooler: false });

    expect(await schemasOf(database.url)).toEqual([schema]);
    await database.drop();
  });

  it('refuses a database with the tables of a service in two schemas', async () => {
    const database = await copyDatabase();
    await query(database.url, 'CREATE SCHEMA svc_s; CREATE TABLE svc_s.svc_schema ()');

    for (const serves of [true, false]) {
      await expect(openAt(database.url, serves)).rejects.toMatchObject({
        code: 'database_foreign',
        message: expect.stringContaining('public, svc_s'),
      });
    }
    await database.drop();
  });

  it('refuses an empty database whose search_path names no schema', async () => {
    const database = await emptyDatabase();
    const name = new URL(database.url).pathname.slice(1);
    await query(database.url, `ALTER DATABASE ${name} SET search_path = svc_none`);

    await expect(openAt(database.url)).rejects.toMatchObject({
      code: 'database_unusable',
      message: expect.stringContaining('no schema has been selected to create in'),
    });

    expect(await schemasOf(database.url)).toEqual([]);
    await database.drop();
  });

  it.skipIf(start !== null)('stores and reads exactly with options in the address', async () => {
    const options = encodeURIComponent('-c extra_float_digits=0 -c search_path=other');
    const [world, url] = await open(async () => {}, `?options=${options}`);

    await storesExactly(world);

    expect(await query(url, 'SELECT DISTINCT setting FROM public.noted')).toEqual([
      { setting: 'on' },
    ]);
    await world.close();
  });

  it.skipIf(start !== null)(
    'keeps PGOPTIONS of the environment, but not before its own',
    async () => {
      const [world, url] = await open(async () => {
        vi.stubEnv('PGOPTIONS', '-c extra_float_digits=0 -c work_mem=9MB -c search_path=other');
      });
      await storesExactly(world);
      const connections = openConnections({ url, poolMax: 1, pooler: false }, 'public');

      const [shown] = await connections.use((connection) => connection.rows(SETTINGS));

      expect(shown).toEqual({ memory: '9MB', path: '"public"', digits: '1' });
      await connections.close();
      await world.close();
    },
  );

  it.skipIf(start === null)(
    'stores and reads exactly if other clients of the pooler changed its sessions',
    async () => {
      const [world, url] = await open(async () => {});
      await changeSessions(pooler?.via(url) ?? url);

      await storesExactly(world);

      expect(await query(url, 'SELECT DISTINCT setting FROM public.noted')).toEqual([
        { setting: 'on' },
      ]);
      await world.close();
    },
  );
}

const SETTINGS = sql(`SELECT current_setting('work_mem') AS memory,
  current_setting('search_path') AS path, current_setting('extra_float_digits') AS digits`);

const SCHEMAS = `SELECT DISTINCT relnamespace::regnamespace::text FROM pg_catalog.pg_class
  WHERE relname IN ('svc_schema', 'robots', 'tasks') ORDER BY 1`;

/** As other clients of a pooler do, whose sessions are everybody's. */
async function changeSessions(url: string): Promise<void> {
  const others = [1, 2, 3].map(() => new pg.Client({ connectionString: url }));
  await Promise.all(others.map((other) => other.connect()));
  await Promise.all(others.map((other) => other.query('BEGIN')));
  for (const other of others) {
    await other.query(`SET search_path = ''; SET extra_float_digits = 0`);
    await other.query(`SET synchronous_commit = off; COMMIT`);
  }
  await Promise.all(others.map((other) => other.end()));
}

/** Moves the tables of the service to another schema; `noted` stays. */
async function moveTables(url: string, schema: string): Promise<void> {
  const name = pg.escapeIdentifier(schema);
  await query(
    url,
    `ALTER SCHEMA public RENAME TO ${name};
    CREATE SCHEMA public;
    ALTER TABLE ${name}.noted SET SCHEMA public`,
  );
}

/** Of the store: statements on their own and in transactions, with floats, bytes and instants. */
async function storesExactly(world: World): Promise<void> {
  const lease = await world.lease();
  const robot = await world.robot();
  const task = await world.task(robot.id);
  const completion = world.completion(task, { reading: 33.333333333333336 });
  const sample = {
    id: uuid(),
    recordedAt: world.now,
    batteryPct: 33.333333333333336,
    state: 'busy',
    metrics: '{"volts":0.30000000000000004}',
  };

  await world.store.authenticateRobot(robot.keyHash);
  expect(await world.store.queueCompletion(completion)).toEqual({ outcome: 'queued' });
  await world.settled(lease);
  await world.store.recordSamples({
    robotId: robot.id,
    keyHash: robot.keyHash,
    samples: [sample],
    now: world.now,
  });

  const found = await world.store.getRobot(robot.id, robot.wallet);
  expect(found).toMatchObject({ batteryPct: 33.333333333333336, lastSeenAt: world.now });
  const evidence = await world.store.getEvidence(task.id, { robotId: robot.id });
  expect(evidence?.proof).toEqual(completion.proof);
  expect(await world.store.checkInvariants()).toEqual([]);
}

async function query(url: string, text: string): Promise<object[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
