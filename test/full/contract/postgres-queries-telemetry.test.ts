import pg from 'pg';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { EventFilter } from '../../../src/server/ports/events.ts';
import type { NewRobot } from '../../../src/server/ports/robots.ts';
import { newWallet, World } from '../../contract/world.ts';
import { openTemporaryPostgres } from './temporary-postgres.ts';

const HOUR = 60 * 60_000;
const ROBOTS = 10;
/** Of each robot. */
const SAMPLES = 3_000;
const EVENTS = 1_500;
const PAGE = 20;

let world: World;
let client: pg.Client;
let robots: NewRobot[];

/** A database with so much history that a plan which walks through it would show. */
beforeAll(async () => {
  world = await World.open(async (clock) => {
    const opened = await openTemporaryPostgres(clock);
    client = new pg.Client({ connectionString: opened.url });
    return opened;
  });
  await client.connect();
  const wallet = await world.account();
  robots = await Promise.all(Array.from({ length: ROBOTS }, () => world.robot(wallet)));
  const ids = robots.map(({ id }) => id);
  await client.query(
    `INSERT INTO telemetry (robot_id, recorded_at, id, metrics)
     SELECT robot_id, $2::bigint - n * 600000, gen_random_uuid(), '{}'
     FROM unnest($1::uuid[]) AS robot_id, generate_series(1, ${SAMPLES}) AS n`,
    [ids, world.now],
  );
  await client.query(
    `INSERT INTO telemetry_rollups (robot_id, resolution, at, samples, states, metrics)
     SELECT robot_id, resolution, $2::bigint - n * 3600000, 1, '{}', '{}'
     FROM unnest($1::uuid[]) AS robot_id, unnest(ARRAY['minute', 'hour', 'day']) AS resolution,
       generate_series(1, 500) AS n`,
    [ids, world.now],
  );
  await client.query(
    `INSERT INTO events (robot_id, id, event_type, severity, message, payload, created_at)
     SELECT robot_id, gen_random_uuid(), CASE WHEN n % 50 = 0 THEN 'rare' ELSE 'usual' END,
       CASE WHEN n % 70 = 0 THEN 'error' ELSE 'info' END, '', '{}', $2::bigint - 86400000
     FROM generate_series(1, ${EVENTS}) AS n, unnest($1::uuid[]) AS robot_id`,
    [ids, world.now],
  );
  await client.query('ANALYZE');
}, 60_000);
afterAll(async () => {
  await client.end();
  await world.close();
});

interface Plan {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

/** The most rows that a step of any statement read, with the plan for any values where such a one is kept. */
async function rowsRead(call: () => Promise<unknown>): Promise<number> {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  await call();
  const statements = query.mock.calls
    .map(([config]): unknown => config)
    .filter((config): config is pg.QueryConfig => typeof config === 'object' && config !== null)
    .filter(({ values = [] }) => values.length > 0);
  query.mockRestore();
  expect(statements.length).toBeGreaterThan(0);
  let most = 0;
  for (const { text, name = '', values = [] } of statements) {
    const mode = name === '' ? 'force_custom_plan' : 'force_generic_plan';
    await client.query(`BEGIN; SET LOCAL plan_cache_mode = ${mode}`);
    await client.query(`PREPARE asked AS ${text}`);
    const given = values.map(literal).join(', ');
    const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE asked (${given})`);
    await client.query('DEALLOCATE asked; ROLLBACK');
    most = Math.max(most, mostOf(rows[0]['QUERY PLAN'][0].Plan));
  }
  return most;
}

function literal(value: unknown): string {
  if (value === null) return 'NULL';
  return client.escapeLiteral(
    Array.isArray(value) ? `{${value.map(item).join(',')}}` : String(value),
  );
}

/** Of an array literal. */
function item(value: unknown): string {
  if (value === null) return 'NULL';
  const text = Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value);
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

function mostOf(plan: Plan): number {
  const read = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'];
  return Math.max(read, ...(plan.Plans ?? []).map(mostOf));
}

const robot = () => robots[3] ?? { wallet: '', id: '', keyHash: '' };
const ofRobot = () => ({ wallet: robot().wallet, robotId: robot().id });
const always = { from: 0, to: Number.MAX_SAFE_INTEGER };

const events = (filter: Partial<EventFilter>) => () =>
  world.store.listEvents(
    { wallet: robot().wallet, robotId: null, severity: null, eventType: null, ...filter },
    { limit: PAGE, before: EVENTS * 5 },
  );

it.each<[string, number, () => Promise<unknown>]>([
  [
    'a page of samples',
    // One of each partition, and the page.
    PAGE + 10,
    () => world.store.listSamples(ofRobot(), always, { limit: PAGE, before: null }),
  ],
  [
    'a later page of samples',
    PAGE + 10,
    () => {
      const before = { recordedAt: world.now - 200 * HOUR, id: uuid() };
      return world.store.listSamples(ofRobot(), always, { limit: PAGE, before });
    },
  ],
  ['roll-ups', PAGE, () => world.store.listRollups(ofRobot(), 'hour', always, PAGE)],
  [
    'reported hours',
    PAGE,
    () => world.store.listReportedHours(robot().id, always, { limit: PAGE, last: null }),
  ],
  [
    'the errors of a report',
    PAGE,
    () => world.store.listErrors(robot().id, { limit: PAGE, last: null }),
  ],
  ['the events of an account', ROBOTS * PAGE, events({})],
  ['its errors', ROBOTS * PAGE, events({ severity: 'error' })],
  ['its events of a type', ROBOTS * PAGE, events({ eventType: 'rare' })],
  ['its errors of a type', ROBOTS * PAGE, events({ eventType: 'rare', severity: 'error' })],
  ['the events of a robot', PAGE, () => events({ robotId: robot().id })()],
  ['errors of a robot', PAGE, () => events({ robotId: robot().id, severity: 'error' })()],
])('reads no more rows than it returns: %s', async (_what, most, call) => {
  expect(await rowsRead(call)).toBeLessThanOrEqual(most);
});

it('records samples and events without reading existing ones', async () => {
  const { id: robotId, keyHash } = robot();
  const samples = Array.from({ length: 5 }, (_, i) => ({
    id: uuid(),
    recordedAt: world.now - i,
    batteryPct: null,
    state: null,
    metrics: '{}',
  }));
  const event = {
    id: uuid(),
    robotId,
    keyHash,
    eventType: 'usual',
    severity: 'info' as const,
    message: '',
    payload: '{}',
    occurredAt: null,
    createdAt: world.now,
  };

  const most = await rowsRead(async () => {
    await world.store.recordSamples({ robotId, keyHash, samples, now: world.now });
    await world.store.createEvent(event);
  });

  // Samples, and their roll-ups in three resolutions.
  expect(most).toBeLessThanOrEqual(3 * samples.length);
});

it('finds old samples and events by their position in the order', async () => {
  const most = await rowsRead(async () => {
    await world.store.deleteSamples(world.now - 60 * 24 * HOUR, PAGE, null);
    await world.store.deleteEvents(0, PAGE);
    await world.store.nextWithTraces('');
    await world.store.deleteTraces(newWallet(), PAGE);
  });

  expect(most).toBeLessThanOrEqual(10 * ROBOTS);
});
