/**
 * What the dashboard asks, over 100 thousand, 1 million and 10 million samples: the same ten robots, one sample every five
 * minutes, with a history of one month, eleven months and nine years. Prints the medians and the ratio of the last to the
 * first; fails when one is above 1.3.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { listEvents } from '../dist/server/core/events.js';
import { readReport } from '../dist/server/core/report.js';
import { getStats } from '../dist/server/core/stats.js';
import { listSamples, readSeries } from '../dist/server/core/telemetry.js';
import { openSqliteStore } from '../dist/server/store/sqlite/open-store.js';
import { storedWith, summarize } from '../dist/server/store/telemetry/roll-ups.js';
import { sized } from './quick.js';

const ROBOTS = 10;
const EVERY_MS = 5 * 60_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const ROUNDS = sized(400, 10);
const MOST = 1.3;
const SIZES = sized([100_000, 1_000_000, 10_000_000], [1_000, 10_000]);

const now = Date.UTC(2026, 0, 15, 12);
const clock = { now: () => now };
const wallet = `0x${'ab'.repeat(20)}`;
const robotId = (i) => `00000000-0000-7000-8000-${String(i).padStart(12, '0')}`;
const metrics = JSON.stringify({ cpu: 0.5, temp_c: 41.5 });

const queries = {
  'stats of the account': (deps) => getStats(deps, wallet, null),
  'report of a week': (deps) => report(deps, 7 * DAY_MS),
  'chart of an hour by minute': (deps, robot) => series(deps, robot, 'minute', HOUR_MS),
  'chart of a day by hour': (deps, robot) => series(deps, robot, 'hour', DAY_MS),
  'chart of a month by hour': (deps, robot) => series(deps, robot, 'hour', 30 * DAY_MS),
  'chart of a month by day': (deps, robot) => series(deps, robot, 'day', 30 * DAY_MS),
  'newest 50 samples': (deps, robot) => listSamples(deps, robot, {}),
  'newest 50 events': (deps) => listEvents(deps, wallet, {}),
  'newest 50 errors of a robot': (deps, robot) =>
    listEvents(deps, wallet, { robot_id: robot.robotId, severity: 'error' }),
};

function report(deps, spanMs) {
  const from = new Date(now - spanMs).toISOString();
  return readReport(deps, wallet, { from, to: new Date(now).toISOString() });
}

function series(deps, robot, resolution, spanMs) {
  const from = new Date(now - spanMs).toISOString();
  return readSeries(deps, robot, { resolution, from, to: new Date(now).toISOString() });
}

/** A database as the service would have left it, its rows written directly. */
async function fill(file, samples) {
  const options = { path: file, clock, serves: true, onFatal: fail };
  const store = await openSqliteStore(options);
  await store.grantCredits({ id: 'bench', wallet, anchors: 1, gasWei: 1n, note: '', now });
  for (let i = 0; i < ROBOTS; i += 1) {
    const keyHash = String(i).padStart(64, '0');
    const robot = { id: robotId(i), wallet, name: `robot ${i}`, description: null, keyHash };
    await store.createRobot({ ...robot, createdAt: now });
  }
  await store.close();
  const db = new Database(file);
  db.pragma('journal_mode = OFF');
  db.pragma('synchronous = OFF');
  db.pragma('cache_size = -65536');
  const perRobot = samples / ROBOTS;
  for (let i = 0; i < ROBOTS; i += 1) {
    db.transaction(() => fillRobot(db, robotId(i), perRobot))();
  }
  db.transaction(() => fillHours(db, perRobot))();
  db.close();
  return openSqliteStore(options);
}

/** `n` counts back from the newest sample; the oldest is written first. */
const counting = 'WITH RECURSIVE c (n) AS (SELECT ? UNION ALL SELECT n - 1 FROM c WHERE n > 1)';

function fillRobot(db, id, samples) {
  db.prepare(
    `${counting} INSERT INTO telemetry
     SELECT ?, ? - n * ${EVERY_MS}, printf('%08x-0000-7000-8000-000000000000', n), n % 101, 'busy', ?
     FROM c`,
  ).run(samples, id, now, metrics);
  for (const [resolution, stepMs] of [
    ['minute', MINUTE_MS],
    ['hour', HOUR_MS],
    ['day', DAY_MS],
  ]) {
    const inStep = Math.max(1, stepMs / EVERY_MS);
    const steps = Math.floor(samples / inStep);
    const everyMs = Math.max(stepMs, EVERY_MS);
    const first = Math.floor(now / stepMs) * stepMs;
    const { battery, states, metrics } = summaryOf(inStep);
    db.prepare(
      `${counting} INSERT INTO telemetry_rollups
       SELECT ?, ?, ? - n * ${everyMs}, ?, ?, ?, ? FROM c`,
    ).run(steps, id, resolution, first, inStep, battery, states, metrics);
  }
  db.prepare(
    `${counting} INSERT INTO events
       (robot_id, id, event_type, severity, message, payload, created_at)
     SELECT ?, printf('%08x-0000-7000-8000-000000000000', n), 'info',
       iif(n % 10 = 0, 'error', 'info'), 'bench', '{}', ? - n * ${EVERY_MS * 10} FROM c`,
  ).run(Math.floor(samples / 10), id, now);
  db.prepare(
    `${counting} INSERT INTO tasks (id, robot_id, wallet, title, created_at)
     SELECT printf('%08x', n) || substr(?, 9), ?, ?, 'bench', ? - n * ${EVERY_MS * 100} FROM c`,
  ).run(Math.floor(samples / 100), id, id, wallet, now);
}

function fillHours(db, samplesOfRobot) {
  const inHour = HOUR_MS / EVERY_MS;
  db.prepare(
    `${counting} INSERT INTO activity_hours (scope, at, samples, info)
     SELECT ?, ? - n * ${HOUR_MS}, ?, 1 FROM c`,
  ).run(Math.floor(samplesOfRobot / inHour), wallet, now, inHour * ROBOTS);
}

/** What is stored of an interval with this many samples. */
function summaryOf(samples) {
  const all = Array.from({ length: samples }, (_, i) => {
    return { recordedAt: 0, batteryPct: i % 101, state: 'busy', metrics };
  });
  const [{ summary }] = summarize(all);
  return storedWith(null, summary);
}

/** Medians in ms, the stores by turns so that a busy machine is busy for all. */
async function compare(stores, query) {
  const times = stores.map(() => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    const robot = { wallet, robotId: robotId(round % ROBOTS) };
    for (const [i, store] of stores.entries()) {
      const started = performance.now();
      await query({ store, clock }, robot);
      times[i].push(performance.now() - started);
    }
  }
  return times.map((ms) => ms.toSorted((a, b) => a - b)[ROUNDS / 2]);
}

function print(line) {
  process.stdout.write(`${line}\n`);
}

function fail(error) {
  throw error;
}

const folder = await mkdtemp(path.join(tmpdir(), 'svc-bench-'));
const stores = [];
try {
  for (const samples of SIZES) {
    const started = performance.now();
    stores.push(await fill(path.join(folder, `${samples}.db`), samples));
    const seconds = Math.round((performance.now() - started) / 1000);
    print(`${samples.toLocaleString('en')} samples written in ${seconds} s`);
  }
  let worst = 0;
  for (const [name, query] of Object.entries(queries)) {
    const medians = await compare(stores, query);
    const ratio = (medians.at(-1) ?? 0) / (medians[0] ?? 0);
    worst = Math.max(worst, ratio);
    const figures = medians.map((ms) => `${ms.toFixed(3)} ms`).join('  ');
    print(`${name.padEnd(30)} ${figures}  ratio ${ratio.toFixed(2)}`);
  }
  print(`worst ratio ${worst.toFixed(2)}, at most ${MOST}`);
  if (worst > MOST) process.exitCode = sized(1, 0);
} finally {
  for (const store of stores) await store.close();
  await rm(folder, { recursive: true, force: true });
}
