import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { v7 as uuid } from 'uuid';
import { dayNames, noNames } from '../../dist/server/core/day-names.js';
import { numbered, Tally } from '../../dist/server/core/tally.js';
import { encodeTally } from '../../dist/server/core/tally-bytes.js';
import { openSqliteStore } from '../../dist/server/store/sqlite/open-store.js';
import { SAMPLES_PER_REQUEST, sampleAt } from './requests.js';

const ROBOTS = 200;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * Rows of the same samples and their roll-ups that better-sqlite3 inserts a second into the same tables, ready as they
 * are, `group` requests' worth in one commit.
 */
export async function rawRowsPerSecond({ seconds, group }) {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-raw-'));
  const file = path.join(folder, 'svc.db');
  const store = await openSqliteStore({
    path: file,
    clock: { now: () => Date.now() },
    exclusive: true,
    onFatal() {},
  });
  await store.close();
  const db = new Database(file);
  db.pragma('synchronous = FULL');
  const write = requestWriter(db);
  const begin = Date.now() - HOUR_MS;
  const robots = Array.from({ length: ROBOTS }, () => uuid());
  let requests = 0;
  const startedAt = performance.now();
  const end = startedAt + seconds * 1000;
  while (performance.now() < end) {
    db.exec('BEGIN IMMEDIATE');
    for (let i = 0; i < group; i += 1) {
      const first = Math.floor(requests / ROBOTS) * SAMPLES_PER_REQUEST;
      write(robots[requests % ROBOTS], begin + first * 1000, first);
      requests += 1;
    }
    db.exec('COMMIT');
  }
  const perSecond = (requests * SAMPLES_PER_REQUEST * 1000) / (performance.now() - startedAt);
  db.close();
  await rm(folder, { recursive: true });
  return perSecond;
}

function requestWriter(db) {
  const insert = db.prepare('INSERT INTO telemetry VALUES (?, ?, ?, ?, ?, ?)');
  const rollup = db.prepare(
    `INSERT INTO telemetry_rollups VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET samples = excluded.samples, summary = excluded.summary`,
  );
  const count = db.prepare(
    `INSERT INTO activity_hours (scope, at, samples) VALUES (?, ?, ?)
     ON CONFLICT (scope, at) DO UPDATE SET samples = samples + excluded.samples`,
  );
  const show = db.prepare(
    'UPDATE robots SET last_seen_at = ?, battery_pct = ?, battery_at = ? WHERE id = ?',
  );
  const summary = typicalSummary();
  const metrics = JSON.stringify(sampleAt(0, 1).metrics);
  return (robot, from, n) => {
    for (let i = 0; i < SAMPLES_PER_REQUEST; i += 1) {
      insert.run(robot, from + i * 1000, uuid(), 80 - ((n + i) % 60), 'busy', metrics);
    }
    const last = from + SAMPLES_PER_REQUEST * 1000;
    const steps = new Set([from, last].map((at) => at - (at % MINUTE_MS)));
    for (const at of steps) rollup.run(robot, 'minute', at, SAMPLES_PER_REQUEST, summary);
    rollup.run(robot, 'hour', from - (from % HOUR_MS), SAMPLES_PER_REQUEST, summary);
    rollup.run(robot, 'day', from - (from % DAY_MS), SAMPLES_PER_REQUEST, summary);
    count.run('0x', from - (from % HOUR_MS), SAMPLES_PER_REQUEST);
    show.run(last, 50, last, robot);
  };
}

function typicalSummary() {
  const tally = new Tally();
  const names = dayNames(noNames);
  for (let i = 0; i < SAMPLES_PER_REQUEST; i += 1) {
    const { battery_pct: batteryPct, state, metrics } = sampleAt(0, i);
    tally.add(numbered(names, { batteryPct, state, metrics: Object.entries(metrics) }));
  }
  return encodeTally(tally);
}
