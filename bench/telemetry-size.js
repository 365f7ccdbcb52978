/**
 * How long a claim takes beside 1 and beside 50 million samples on PostgreSQL: medians and 99th percentiles, and their
 * ratio; fails when the median's is above 1.3. Takes some minutes and 10 GB of disk.
 *
 *   --millions N   of the larger size (default 50)
 */
import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { v7 as uuid } from 'uuid';
import { openPostgresStore } from '../dist/server/store/postgres/open-store.js';
import { startPostgres } from '../test/support/postgres.ts';
import { createDatabase } from '../test/support/temporary-database.ts';
import { sized } from './quick.js';

const { values } = parseArgs({
  options: { millions: { type: 'string', default: sized('50', '0.02') } },
});
const SIZES = [sized(1_000_000, 10_000), Number(values.millions) * 1_000_000];
const ROBOTS = 100;
const CLAIMS = 2_000;
const MOST = 1.3;
const wallet = `0x${'ab'.repeat(20)}`;

const server = await startPostgres(['fsync=on', 'max_wal_size=8GB']);
try {
  const opened = [];
  for (const size of SIZES) opened.push(await fill(size));
  const times = opened.map(() => []);
  // By turns, so that a busy machine is busy for both.
  for (let i = 0; i < CLAIMS; i += 1) {
    for (const [at, { store, robots }] of opened.entries()) {
      const robot = robots[i % ROBOTS];
      const startedAt = performance.now();
      await store.authenticateRobot(robot.keyHash);
      const claim = { id: uuid(), robotId: robot.id, keyHash: robot.keyHash, title: 'Carry' };
      await store.createTask({
        ...claim,
        description: null,
        expectedResult: null,
        occurredAt: null,
        createdAt: Date.now(),
        idGiven: false,
      });
      times[at].push(performance.now() - startedAt);
    }
  }
  const [small, large] = times.map((list) => list.toSorted((a, b) => a - b));
  const at = (list, part) => list[Math.floor(part * (list.length - 1))];
  for (const [label, part] of [
    ['p50', 0.5],
    ['p99', 0.99],
  ]) {
    const pair = [at(small, part), at(large, part)];
    process.stdout.write(
      `claim, ${label}: ${pair[0].toFixed(2)} ms beside ${SIZES[0]} samples, ${pair[1].toFixed(2)} ms beside ${SIZES[1]}, ratio ${(pair[1] / pair[0]).toFixed(2)}\n`,
    );
  }
  if (at(large, 0.5) / at(small, 0.5) > MOST) process.exitCode = sized(1, 0);
  for (const { store } of opened) await store.close();
} finally {
  await server.close();
}

/** A database as the service would have left it, its samples written directly. */
async function fill(size) {
  const { url } = await createDatabase(server.url);
  const store = await openPostgresStore({ url, poolMax: 4, pooler: false, serves: true });
  const now = Date.now();
  await store.grantCredits({ id: uuid(), wallet, anchors: 1, gasWei: 1n, note: '', now });
  const robots = Array.from({ length: ROBOTS }, (_, i) => ({
    id: uuid(),
    keyHash: createHash('sha256').update(`${size}/${i}`).digest('hex'),
  }));
  for (const { id, keyHash } of robots) {
    await store.createRobot({
      id,
      wallet,
      name: 'bench',
      description: null,
      keyHash,
      createdAt: now,
    });
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const [i, { id }] of robots.entries()) {
    await client.query(
      `INSERT INTO telemetry SELECT $1, $2::bigint - n * 1000, gen_random_uuid(), n % 101, 'busy',
        '{"cpu":0.37,"speed_m_s":0.4,"temp_c":41.5}' FROM generate_series(1, $3::int) AS n`,
      [id, now, size / ROBOTS],
    );
    if (i % 10 === 9) process.stderr.write(`${size}: ${i + 1} of ${ROBOTS} robots\n`);
  }
  await client.query('ANALYZE');
  await client.end();
  return { store, robots };
}
