// How clocks of servers really behave. docs/testing.md says how to add a row.
import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/server/config.ts';
import { hashToken } from '../../src/server/core/sessions.ts';
import { type Server, startServer } from '../../src/server/main.ts';
import type { Store } from '../../src/server/ports/store.ts';
import { openStore } from '../../src/server/store/open-store.ts';
import { anvilAccounts, startTestChain, type TestChain } from '../support/anvil.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { type Owner, signInWithRobot, type TestRobot } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Send, send } from '../support/wire.ts';

const DAY = 24 * 3_600_000;
const YEARS = 2 * 365 * DAY;
/** Of samples and events. */
const RETENTION = 30 * DAY;
const REASON = 'clock_implausible';
const OLD = -RETENTION - 2 * DAY;

interface Row {
  name: string;
  /** Where it was reported: repository and number. */
  report: string;
  /** How far the clock is moved while the server is stopped. */
  step: number;
  /** The times of the newest block after the start as the URLs state them, in ms from the time of the stop. */
  blocks: readonly number[] | 'unreachable';
}

const implausible: Row[] = [
  { name: 'is two years ahead', report: 'of our own', step: YEARS, blocks: [0] },
  {
    name: 'is two years ahead without a chain',
    report: 'of our own',
    step: YEARS,
    blocks: 'unreachable',
  },
  {
    name: 'is two years ahead, and one of three nodes too',
    report: 'of our own',
    step: YEARS,
    blocks: [0, YEARS, 0],
  },
  { name: 'is two years behind', report: 'of our own', step: -YEARS, blocks: [0] },
  {
    name: 'is two years behind, and the chain is still',
    report: 'of our own',
    step: -YEARS,
    blocks: [-40 * DAY],
  },
  { name: 'is two days ahead of the chain', report: 'of our own', step: 2 * DAY, blocks: [0] },
];

const plausible: Row[] = [
  { name: 'is 23 hours ahead', report: 'of our own', step: DAY - 3_600_000, blocks: [0] },
  { name: 'is 23 hours behind', report: 'of our own', step: 3_600_000 - DAY, blocks: [0] },
  { name: 'is right after 40 days off', report: 'of our own', step: 40 * DAY, blocks: [40 * DAY] },
  {
    name: 'is right, and the chain was still for 30 days',
    report: 'of our own',
    step: 1000,
    blocks: [-30 * DAY],
  },
  {
    name: 'is right, and the chain is two years ahead',
    report: 'of our own',
    step: 1000,
    blocks: [YEARS],
  },
  {
    name: 'is right, and no chain is reached',
    report: 'of our own',
    step: 1000,
    blocks: 'unreachable',
  },
];

let node: TestChain;
/** The data of a server that did its work and was stopped. */
let worked: string;
let folder: string;
let wall: TestClock;
let proxies: RpcProxy[] = [];
let server: Server | null = null;
let owner: Owner;
let robot: TestRobot;
let workedAt: number;

beforeAll(async () => {
  node = await startTestChain();
  worked = await mkdtemp(path.join(tmpdir(), 'svc-clock-'));
  folder = worked;
  wall = createTestClock(Date.now());
  await start([0]);
  ({ owner, robot } = await signInWithRobot(call));
  await stop();
  await work();
});
afterAll(async () => {
  await node.close();
  await rm(worked, { recursive: true });
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-clock-'));
  await cp(worked, folder, { recursive: true });
  wall = createTestClock(workedAt);
});
afterEach(async () => {
  await stop();
  await rm(folder, { recursive: true });
});

const call = (method: string, target: string, sent?: Send) =>
  send(server?.url ?? '', method, target, sent);

function readTestConfig() {
  const days = String(RETENTION / DAY);
  return readConfig({
    SVC_PORT: '0',
    SVC_DATA_DIR: folder,
    SVC_CHAIN_RPC_URL: proxies.map(({ url }) => url).join(),
    SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[0].privateKey,
    SVC_TELEMETRY_RETENTION_DAYS: days,
    SVC_EVENT_RETENTION_DAYS: days,
  });
}

/** Starts the server with a node for each time, which states that time for its newest block. */
async function start(blocks: Row['blocks'], from = wall.now()): Promise<void> {
  const nodes = blocks === 'unreachable' ? [null] : blocks;
  proxies = await Promise.all(nodes.map(() => startRpcProxy(node.url)));
  for (const [i, ms] of nodes.entries()) {
    if (ms === null) proxies[i]?.cut();
    else proxies[i]?.handle(stateTime(from + ms));
  }
  server = await startServer(readTestConfig(), { logger: pino({ level: 'silent' }), wall });
}

/** Passes calls on, and changes the time of the newest block. */
const stateTime =
  (ms: number): Parameters<RpcProxy['handle']>[0] =>
  async ({ calls, forward, answer }) => {
    const timestamp = `0x${Math.floor(ms / 1000).toString(16)}`;
    const answers = await forward(calls);
    answer(
      answers.map((one, i) => {
        const isNewest = calls[i]?.params[0] === 'latest' && 'result' in one;
        return isNewest ? { result: { ...(one.result as object), timestamp } } : one;
      }),
    );
  };

async function stop(): Promise<void> {
  await server?.close();
  server = null;
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
}

const record = (sample: object) =>
  call('POST', '/api/v1/telemetry', { apiKey: robot.apiKey, body: sample });

const timestamp = (ms: number) => new Date(ms).toISOString();

/** Stores a sample and an event that are past their retention, and then new ones. */
async function work(): Promise<void> {
  workedAt = wall.now();
  const store = await openStore(readTestConfig().database, { clock: wall, serves: true });
  const by = { robotId: robot.id, keyHash: hashToken(robot.apiKey) };
  for (const [eventType, age] of [['old', OLD] as const, ['start', 0] as const]) {
    const at = workedAt + age;
    const content = { batteryPct: null, state: null, metrics: '{}' };
    const samples = [{ id: randomUUID(), recordedAt: at, ...content }];
    await store.recordSamples({ ...by, samples, now: workedAt });
    const said = { eventType, severity: 'info', message: 'Said', payload: '{}' } as const;
    await store.createEvent({ ...by, ...said, id: randomUUID(), occurredAt: null, createdAt: at });
  }
  await store.close();
}

/** Opens the database next to a server, if one runs. */
async function inStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(readTestConfig().database, { clock: wall, serves: false });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** What the database has of the robot: times of samples from the time of `work`, and types of events. */
async function stored() {
  const page = { limit: 9, before: null };
  const of = { wallet: owner.wallet, robotId: robot.id };
  const range = { from: 0, to: Number.MAX_SAFE_INTEGER };
  const samples = await inStore((store) => store.listSamples(of, range, page));
  const all = { ...of, severity: null, eventType: null };
  const events = await inStore((store) => store.listEvents(all, page));
  return {
    samples: samples?.map(({ recordedAt }) => recordedAt - workedAt),
    events: events?.map(({ eventType }) => eventType),
  };
}

/** Waits until a round of deletion has deleted what is old, and with `isOver` everything: it takes several commits. */
const afterDeletion = ({ isOver = false } = {}) =>
  waitFor('a round of deletion', async () => {
    const found = await stored();
    const isGone = !found.events?.includes('old') && !found.samples?.includes(OLD);
    const left = [...(found.events ?? []), ...(found.samples ?? [])];
    return (isOver ? left.length === 0 : isGone) && found;
  });

const readiness = async () => (await call('GET', '/readyz')).body.degraded;

const get = (target: string) => call('GET', target, { session: owner.session });

describe('a server whose clock', () => {
  it.each(implausible)(
    '$name ($report) loses nothing, and reports it',
    async ({ step, blocks }) => {
      wall.advance(step);
      await start(blocks, workedAt);

      expect(await afterDeletion()).toEqual({ samples: [0], events: ['start'] });
      expect(await readiness()).toContain(REASON);
      const reply = await record({ recorded_at: timestamp(workedAt + 1000) });
      expect(reply.status).toBe(201);
      // Agents set their time by the header.
      expect(reply.headers.has('date')).toBe(false);
      expect((await stored()).samples).toEqual([1000, 0]);
      expect((await get('/api/v1/robots')).status).toBe(200);
      expect((await signInWithRobot(call)).owner.wallet).toMatch(/^0x/);
    },
  );

  it.each(plausible)('$name ($report) expires old data', async ({ step, blocks }) => {
    wall.advance(step);
    await start(blocks, workedAt);

    const isOver = step > RETENTION;
    expect(await afterDeletion({ isOver })).toEqual(
      isOver ? { samples: [], events: [] } : { samples: [0], events: ['start'] },
    );
    expect(await readiness()).not.toContain(REASON);
    expect((await record({ recorded_at: timestamp(wall.now()) })).status).toBe(201);
    expect((await stored()).samples).toContain(step);
    expect((await get('/api/v1/robots')).status).toBe(isOver ? 401 : 200);
  });

  it('jumps while the server runs (of our own) loses nothing, and continues when it returns', async () => {
    await start([0]);
    wall.advance(YEARS);

    expect(await readiness()).toContain(REASON);
    expect((await record({ recorded_at: timestamp(workedAt) })).status).toBe(201);
    expect((await get('/api/v1/robots')).status).toBe(200);

    wall.advance(-YEARS);
    expect((await get('/api/v1/robots')).headers.has('date')).toBe(true);
  });

  it('runs for 31 days while the chain has no new block (of our own) is accepted', async () => {
    await start([0]);
    for (let hours = 0; hours < 31 * 24; hours += 12) {
      wall.advance(12 * 3_600_000);
      await get('/api/v1/robots');
    }

    expect(await readiness()).not.toContain(REASON);
    // A session lasts for 30 days.
    expect((await get('/api/v1/robots')).status).toBe(401);
  });

  it('does not go back at a restart (of our own)', async () => {
    const before = await inStore((store) => store.readCheckedTime());
    wall.advance(-YEARS);
    await start('unreachable');
    await stop();

    const after = await inStore((store) => store.readCheckedTime());
    expect(after?.checkedAt).toBeGreaterThan(before?.checkedAt ?? 0);
  });

  it('is behind after 40 days without a chain (of our own) refuses no sample for good', async () => {
    wall.advance(-YEARS);
    await start('unreachable');

    const reply = await record({ recorded_at: timestamp(workedAt + 40 * DAY) });

    expect(reply).toMatchObject({ status: 503, body: { error: 'storage_unavailable' } });
  });
});

describe('a clock that is not confirmed', () => {
  beforeEach(() =>
    inStore((store) => store.saveCheckedTime({ checkedAt: workedAt - YEARS, confirmations: 0 })),
  );

  const accepted = () =>
    waitFor('the clock to be accepted', async () => !(await readiness()).includes(REASON));

  it('is accepted when the chain is reached', async () => {
    await start('unreachable');
    expect(await readiness()).toContain(REASON);

    proxies[0]?.handle(stateTime(wall.now()));

    await accepted();
  });

  it('is accepted by svc-server clock confirm, which the audit log records', async () => {
    await start([-2 * YEARS]);
    expect(await readiness()).toContain(REASON);
    const env = { SVC_DATA_DIR: folder };
    const confirm = (...args: string[]) =>
      runInProcess('svc-server', ['clock', 'confirm', ...args], { env });

    const asked = await confirm();
    expect(asked).toMatchObject({ exitCode: 2, stdout: '' });
    expect(asked.stderr).toMatch(/This machine's clock says 20\d\d-.*, the service's 20\d\d-/);
    expect(await readiness()).toContain(REASON);

    expect(await confirm('--yes')).toMatchObject({ exitCode: 0 });
    await accepted();
    const [entry] = await inStore((store) => store.listAuditLog(owner.wallet, 1, null));
    expect(entry).toMatchObject({ kind: 'clock_confirmed', actor: 'operator' });
  });
});
