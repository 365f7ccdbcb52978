import { createHash, randomBytes } from 'node:crypto';
import pg from 'pg';
import { v7 as uuid } from 'uuid';
import { openPostgresStore } from '../../dist/server/store/postgres/open-store.js';
import { startPostgres } from '../../test/support/postgres.ts';
import { createDatabase } from '../../test/support/temporary-database.ts';
import { claimsPerSecond } from './claims.js';
import { completionsPerSecond } from './completions.js';
import { SAMPLES_PER_REQUEST, sampleAt, samplesPerSecond } from './telemetry.js';

const POOL = 10;
const ROBOTS = 200;

/** The service on PostgreSQL, and what pg does by itself with the same statements on as many connections. */
export async function measurePostgres({ seconds }) {
  const given = process.env.TEST_POSTGRES_URL;
  // Each commit reaches the disk, as on SQLite.
  const server = given === undefined ? await startPostgres(['fsync=on']) : null;
  const url = given ?? server.url;
  try {
    const on = async (measure) => {
      const database = await createDatabase(url);
      try {
        return await measure(database.url);
      } finally {
        await database.drop();
      }
    };
    const served = (measure) =>
      on((database) => measure({ seconds, environment: { SVC_DATABASE_URL: database } }));
    return {
      samples: await served(samplesPerSecond),
      claims: await served(claimsPerSecond),
      completions: await served(completionsPerSecond),
      rawRows: await on((database) => rawPerSecond(database, { seconds, step: insertSamples() })),
      rawClaims: await on((database) => rawPerSecond(database, { seconds, step: countAndClaim })),
    };
  } finally {
    await server?.close();
  }
}

/** What `step` says that it did, a second, on all connections together. */
async function rawPerSecond(url, { seconds, step }) {
  const wallet = `0x${'ab'.repeat(20)}`;
  const robots = Array.from({ length: ROBOTS }, () => ({ id: uuid(), key: randomBytes(16) }));
  const store = await openPostgresStore({ url, poolMax: 2, pooler: false, serves: true });
  const now = Date.now();
  await store.grantCredits({ id: uuid(), wallet, anchors: 1, gasWei: 1n, note: '', now });
  for (const { id, key } of robots) {
    const robot = { id, wallet, name: 'bench', description: null, keyHash: hashOf(key) };
    await store.createRobot({ ...robot, createdAt: now });
  }
  await store.close();
  const pool = new pg.Pool({ connectionString: url, max: POOL });
  // `end` does not wait for the server's side, which the drop of the database then cuts off.
  pool.on('error', () => {});
  const end = performance.now() + seconds * 1000;
  const startedAt = performance.now();
  let done = 0;
  const work = async (first) => {
    for (let turn = first; performance.now() < end; turn += POOL) {
      const more = await step(pool, robots[turn % ROBOTS], turn);
      done += more;
    }
  };
  await Promise.all(Array.from({ length: POOL }, (_, i) => work(i)));
  const perSecond = (done * 1000) / (performance.now() - startedAt);
  await pool.end();
  return perSecond;
}

function hashOf(key) {
  return createHash('sha256').update(key).digest('hex');
}

const INSERT_SAMPLES = {
  name: 'samples',
  text: `INSERT INTO telemetry (robot_id, recorded_at, id, battery_pct, state, metrics)
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::float8[], $5::text[], $6::text[])
    ON CONFLICT DO NOTHING`,
};

/** Rows alone, without roll-ups: what a commit of them costs at least. */
function insertSamples() {
  const begin = Date.now() - 3_600_000;
  return async (pool, { id }, turn) => {
    const first = Math.floor(turn / ROBOTS) * SAMPLES_PER_REQUEST;
    const samples = Array.from({ length: SAMPLES_PER_REQUEST }, (_, i) => {
      const at = begin + (first + i) * 1000;
      const { battery_pct, state, metrics } = sampleAt(at, first + i);
      return [id, at, uuid(), battery_pct, state, JSON.stringify(metrics)];
    });
    const columns = [0, 1, 2, 3, 4, 5].map((column) => samples.map((sample) => sample[column]));
    await pool.query({ ...INSERT_SAMPLES, values: columns });
    return SAMPLES_PER_REQUEST;
  };
}

const AUTHENTICATE = {
  name: 'authenticate',
  text: `WITH robot AS (SELECT id, wallet FROM robots WHERE key_hash = $1), counted AS (
      INSERT INTO rate_counters AS c (window_start, scope, key, used)
      SELECT $2::bigint, 'robot', id::text, 1 FROM robot
      ON CONFLICT (window_start, scope, key) DO UPDATE SET used = c.used + 1
      WHERE c.used < 1000000000 RETURNING used
    ) SELECT id, wallet, used FROM robot LEFT JOIN counted ON true`,
};
const CLAIM = {
  name: 'claim',
  text: `WITH robot AS (
      SELECT id, wallet FROM robots WHERE id = $2 AND key_hash = $3 FOR NO KEY UPDATE
    ), created AS (
      INSERT INTO tasks (id, robot_id, wallet, title, description, expected_result, created_at)
      SELECT $1::uuid, id, wallet, $4::text, $5::text, $6::text, $7::bigint FROM robot
      ON CONFLICT (id) DO NOTHING RETURNING robot_id
    ), seen AS (
      UPDATE robots SET last_seen_at = $7 WHERE id IN (SELECT robot_id FROM created)
    ) SELECT wallet, EXISTS (SELECT FROM created) AS created FROM robot`,
};

async function countAndClaim(pool, { id, key }) {
  const keyHash = hashOf(key);
  const now = Date.now();
  await pool.query({ ...AUTHENTICATE, values: [keyHash, now - (now % 60_000)] });
  const values = [uuid(), id, keyHash, 'Carry parcel 17', 'fragile', '{"bay":"C7"}', now];
  await pool.query({ ...CLAIM, values });
  return 1;
}
