import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { v7 as newId } from 'uuid';
import { openSqliteStore } from '../../dist/server/store/sqlite/open-store.js';
import { storedWith, summarize } from '../../dist/server/store/telemetry/roll-ups.js';
import { SAMPLES_PER_REQUEST, sampleAt } from './telemetry.js';

const ROBOTS = 200;
const HOUR_MS = 3_600_000;
/** Requests that the server commits together under load, some 32 in the runs that this was chosen by. */
const GROUP = 32;

/**
 * Samples a second that better-sqlite3 puts into the same tables by itself, grouped and flushed as the server does: rows,
 * roll-ups, the hour's count, the robot's newest reading. Nothing is parsed, checked or answered.
 *
 * @param {{ seconds: number }} options
 */
export async function rawRowsPerSecond({ seconds }) {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-raw-'));
  const file = path.join(folder, 'svc.db');
  const store = await openSqliteStore({
    path: file,
    clock: { now: () => Date.now() },
    serves: true,
    onFatal() {},
  });
  await store.close();
  const db = new Database(file);
  db.pragma('synchronous = FULL');
  const write = requestWriter(db);
  const begin = Date.now() - HOUR_MS;
  const robots = Array.from({ length: ROBOTS }, () => newId());
  let requests = 0;
  const startedAt = performance.now();
  const end = startedAt + seconds * 1000;
  while (performance.now() < end) {
    db.exec('BEGIN IMMEDIATE');
    for (let i = 0; i < GROUP; i += 1) {
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
  const find = db.prepare(
    `SELECT samples, battery, states, metrics FROM telemetry_rollups
     WHERE robot_id = ? AND resolution = ? AND at = ?`,
  );
  const save = db.prepare('INSERT OR REPLACE INTO telemetry_rollups VALUES (?, ?, ?, ?, ?, ?, ?)');
  const count = db.prepare(
    `INSERT INTO activity_hours (scope, at, samples) VALUES (?, ?, ?)
     ON CONFLICT (scope, at) DO UPDATE SET samples = samples + excluded.samples`,
  );
  const show = db.prepare(
    'UPDATE robots SET last_seen_at = ?, battery_pct = ?, battery_at = ? WHERE id = ?',
  );
  const { state, metrics } = sampleAt(0, 1);
  const text = JSON.stringify(metrics);
  return (robot, from, n) => {
    const samples = [];
    for (let i = 0; i < SAMPLES_PER_REQUEST; i += 1) {
      const recordedAt = from + i * 1000;
      const batteryPct = 80 - ((n + i) % 60);
      insert.run(robot, recordedAt, newId(), batteryPct, state, text);
      samples.push({ recordedAt, batteryPct, state, metrics: text });
    }
    for (const { resolution, at, summary } of summarize(samples)) {
      const stored = storedWith(find.get(robot, resolution, at) ?? null, summary);
      save.run(robot, resolution, at, ...Object.values(stored));
    }
    count.run('0x', from - (from % HOUR_MS), SAMPLES_PER_REQUEST);
    const last = from + SAMPLES_PER_REQUEST * 1000;
    show.run(last, 50, last, robot);
  };
}
