/**
 * One evaluation of every alert rule for 10 000 robots of 20 accounts, without events and with 20 of each robot, on
 * SQLite and on PostgreSQL. Half of the robots have an open alert. Prints a table.
 *
 *   --robots N    of each of the 20 accounts (default 500)
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/base/clock.ts';
import { alertKinds } from '../src/protocol/alerts.ts';
import { openPostgresStore } from '../src/server/store/postgres/open-store.ts';
import { openSqliteStore } from '../src/server/store/sqlite/open-store.ts';
import { evaluateRules } from '../test/support/alerts.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { createDatabase } from '../test/support/temporary-database.ts';
import { sized } from './quick.js';
import { report } from './report.js';

const ACCOUNTS = 20;
/** Robots that are written at once. */
const AT_ONCE = 100;
/** Events of each robot. */
const EVENTS = 20;

const { values } = parseArgs({
  options: { robots: { type: 'string', default: sized('500', '5') } },
});
const robots = Number(values.robots);
const folder = await mkdtemp(path.join(tmpdir(), 'svc-bench-'));
const postgres = await startPostgres();
const database = await createDatabase(postgres.url);

const sqlite = await openSqliteStore({
  path: path.join(folder, 'svc.db'),
  clock: systemClock,
  serves: true,
  onFatal(error) {
    throw error;
  },
});
const onSqlite = await measure(sqlite);
await sqlite.close();
const pg = await openPostgresStore({
  url: database.url,
  poolMax: 10,
  pooler: false,
  serves: true,
});
const onPostgres = await measure(pg);
await pg.close();
await database.drop();
await postgres.close();
await rm(folder, { recursive: true, force: true });

const count = ACCOUNTS * robots;
report([
  ['robots', count],
  ['SQLite, that opens an alert of half of them, s', onSqlite.opening, '<=', 1],
  ['SQLite, that changes nothing, s', onSqlite.steady, '<=', 1],
  ['SQLite, longest block of the event loop, ms', onSqlite.longest],
  [`SQLite, with ${EVENTS} events of each robot, s`, onSqlite.later, '<=', 1],
  ['PostgreSQL, that opens an alert of half of them, s', onPostgres.opening, '<=', 1],
  ['PostgreSQL, that changes nothing, s', onPostgres.steady, '<=', 1],
  [`PostgreSQL, with ${EVENTS} events of each robot, s`, onPostgres.later, '<=', 1],
]);

/** @param {import('../src/server/ports/store.ts').Store} store */
async function measure(store) {
  const made = await makeRobots(store);
  for (const { wallet } of made.filter((_, i) => i % robots === 0)) {
    for (const kind of /** @type {(keyof typeof alertKinds)[]} */ (Object.keys(alertKinds))) {
      await store.saveAlertRule(wallet, { kind, threshold: 20 });
    }
  }
  const evaluate = () => evaluateRules({ store, clock: systemClock });
  const opening = await secondsOf(evaluate);
  let longest = 0;
  let last = performance.now();
  const watch = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  const steady = await secondsOf(evaluate);
  clearInterval(watch);
  for (let i = 0; i < EVENTS; i += 1) await inSteps(made, (robot) => reportEvent(store, robot));
  await evaluate();
  return { opening, steady, longest, later: await secondsOf(evaluate) };
}

/** @param {import('../src/server/ports/store.ts').Store} store */
async function makeRobots(store) {
  const now = Date.now();
  const wallets = Array.from({ length: ACCOUNTS }, () => `0x${randomUUID()}`);
  for (const wallet of wallets) {
    const grant = { id: randomUUID(), wallet, anchors: 1000, gasWei: 10n ** 18n, note: 'bench' };
    await store.grantCredits({ ...grant, now });
  }
  const made = wallets.flatMap((wallet) =>
    Array.from({ length: robots }, (_, i) => {
      const id = randomUUID();
      const keyHash = createHash('sha256').update(id).digest('hex');
      return { id, wallet, keyHash, batteryPct: i % 2 === 0 ? 10 : 90 };
    }),
  );
  await inSteps(made, async ({ id, wallet, keyHash, batteryPct }) => {
    await store.createRobot({
      id,
      wallet,
      name: 'arm',
      description: null,
      keyHash,
      createdAt: now,
    });
    const sample = { id: randomUUID(), recordedAt: now, batteryPct, state: null, metrics: '{}' };
    await store.recordSamples({ robotId: id, keyHash, samples: [sample], now });
  });
  return made;
}

/**
 * @param {import('../src/server/ports/store.ts').Store} store
 * @param {{ id: string, keyHash: string }} robot
 */
async function reportEvent(store, { id: robotId, keyHash }) {
  const event = { id: randomUUID(), robotId, keyHash, eventType: 'tick', message: '' };
  const more = { severity: /** @type {const} */ ('info'), payload: '{}', occurredAt: null };
  await store.createEvent({ ...event, ...more, createdAt: Date.now() });
}

/**
 * @template Item
 * @param {readonly Item[]} items
 * @param {(item: Item) => Promise<void>} work
 */
async function inSteps(items, work) {
  for (let i = 0; i < items.length; i += AT_ONCE) {
    await Promise.all(items.slice(i, i + AT_ONCE).map(work));
  }
}

/** @param {() => Promise<unknown>} work */
async function secondsOf(work) {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}
