/**
 * A large database, on SQLite and on PostgreSQL: proofs that are anchored through the batch route, then samples, one a
 * second of each robot. Prints the bytes of each, how long the server then takes to be ready, and how long `svc-server
 * check` takes, with its memory beside that of a check of a twentieth of the proofs; fails when a goal is missed. Takes an
 * hour and 30 GB of disk.
 *
 *   --proofs N     (default 1000000)
 *   --samples N    (default 50000000)
 */

import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { v7 as uuid } from 'uuid';
import { systemClock } from '../dist/base/clock.js';
import { hashToken } from '../dist/server/core/sessions.js';
import { openStore } from '../dist/server/store/open-store.js';
import { startPostgres } from '../test/support/postgres.ts';
import { createDatabase } from '../test/support/temporary-database.ts';
import { claimTasks, completeAll } from './anchor/load.js';
import { sized } from './quick.js';
import { report } from './report.js';
import { runToEnd } from './run-to-end.js';
import { openSite } from './site.js';

const ROBOTS = 500;
const PER_CALL = 50;
/** Of the store, at the same time. */
const CALLS = 100;

const { values } = parseArgs({
  options: {
    proofs: { type: 'string', default: sized('1000000', '1000') },
    samples: { type: 'string', default: sized('50000000', '5000') },
  },
});
const proofs = Number(values.proofs);
const samples = Number(values.samples);
const program = fileURLToPath(new URL('../bin/svc-server.js', import.meta.url));

/** @param {string} label @param {string | undefined} url of PostgreSQL; without it, SQLite */
async function measure(label, url) {
  const environment = url === undefined ? {} : { SVC_DATABASE_URL: url };
  const site = await openSite({ blockTime: 1, robots: ROBOTS, environment });
  const bytes = () => (url === undefined ? bytesOf(site.folder) : bytesOfDatabase(url));
  const check = async () => runToEnd([program, 'check'], site.settings);
  try {
    const empty = await bytes();
    await anchorProofs(site, proofs / 20);
    const early = await check();
    await anchorProofs(site, (proofs / 20) * 19);
    await site.end('SIGTERM');
    const proven = await bytes();
    const whole = await check();
    await recordSamples(site, url);
    const full = await bytes();
    const readySeconds = await site.restart();
    return [
      [`${label}, bytes per proof`, (proven - empty) / proofs],
      [`${label}, bytes per sample`, (full - proven) / samples],
      [`${label}, start to ready (s)`, readySeconds, '<=', 2],
      [`${label}, check of ${proofs} proofs (s)`, whole.seconds, '<=', 90],
      [`${label}, its peak memory (MB)`, whole.megabytes],
      [`${label}, of that of a twentieth`, whole.megabytes / early.megabytes, '<=', 1.5],
    ];
  } finally {
    await site.close();
  }
}

async function anchorProofs(site, count) {
  const robots = await claimTasks(site, Math.ceil(count / ROBOTS));
  await completeAll(site.url, robots);
}

/** As the service stores them, at the clock of robots that began long ago. */
async function recordSamples({ robots, settings }, url) {
  const database =
    url === undefined
      ? { kind: 'sqlite', path: path.join(settings.SVC_DATA_DIR, 'svc.db') }
      : { kind: 'postgres', url, poolMax: 10, pooler: false };
  const store = await openStore(database, { clock: systemClock, serves: true });
  const ofRobot = samples / ROBOTS;
  const begin = Date.now() - ofRobot * 1000;
  const work = async (own) => {
    for (let i = 0; i < ofRobot; i += PER_CALL) {
      for (const { id: robotId, apiKey } of own) {
        const some = Array.from({ length: Math.min(PER_CALL, ofRobot - i) }, (_, n) =>
          sampleAt(begin + (i + n) * 1000),
        );
        const call = { robotId, keyHash: hashToken(apiKey), samples: some, now: Date.now() };
        await store.recordSamples(call);
      }
    }
  };
  const shares = Array.from({ length: CALLS }, (_, share) =>
    robots.filter((_, i) => i % CALLS === share),
  );
  await Promise.all(shares.map(work));
  await store.close();
}

function sampleAt(recordedAt) {
  const second = recordedAt / 1000;
  const metrics = { cpu: (second % 97) / 97, speed_m_s: (second % 13) / 10, temp_c: 41.5 };
  return {
    id: uuid(),
    recordedAt,
    batteryPct: 100 - (second % 60),
    state: second % 300 < 200 ? 'busy' : 'idle',
    metrics: JSON.stringify(metrics),
  };
}

async function bytesOf(folder) {
  const files = (await readdir(folder)).filter((name) => name.startsWith('svc.db'));
  const sizes = await Promise.all(files.map((name) => stat(path.join(folder, name))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
}

async function bytesOfDatabase(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query('SELECT pg_database_size(current_database()) AS bytes');
  await client.end();
  return Number(rows[0].bytes);
}

const server = await startPostgres(['fsync=on', 'max_wal_size=4GB']);
try {
  const { url } = await createDatabase(server.url);
  report(await measure('SQLite', undefined));
  report(await measure('PostgreSQL', url));
} finally {
  await server.close();
}
