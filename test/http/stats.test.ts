import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestClock } from '../support/clock.ts';
import { startTestService, type TestService } from '../support/service.ts';

const HOUR = 3_600_000;
const clock = createTestClock();
let service: TestService;
beforeAll(async () => {
  service = await startTestService({ clock });
});
afterAll(() => service.close());

const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0);

it('returns zeros for a new account', async () => {
  const { session } = await service.signIn();

  const { status, body } = await service.call('GET', '/api/v1/stats', { session });

  expect(status).toBe(200);
  expect(body).toMatchObject({
    robots: { total: 0, online: 0, by_state: {}, without_state: 0 },
    battery: { buckets: Array(10).fill(0), unknown: 0 },
    tasks: { claimed: 0, verified: 0 },
  });
  expect(body.anchors_by_day).toHaveLength(30);
  expect(body.anchors_by_day.at(-1)).toEqual({ day: '2026-01-15', anchors: 0, gas_wei: '0' });
  expect(body.anchors_by_day[0].day).toBe('2025-12-17');
  expect(body.events_by_hour).toHaveLength(24);
  expect(body.samples_by_hour).toHaveLength(24);
  expect(body.samples_by_hour.at(-1).at).toBe('2026-01-15T12:00:00.000Z');
});

it('counts the activity of the robots of the account only', async () => {
  const owner = await service.signIn();
  const [first, second, silent] = [
    await service.makeRobot(owner, 'a'),
    await service.makeRobot(owner, 'b'),
    await service.makeRobot(owner, 'c'),
  ];
  const post = (apiKey: string, path: string, body: object) =>
    service.call('POST', path, { apiKey, body });
  const hourAgo = new Date(clock.now() - HOUR).toISOString();
  await post(first.apiKey, '/api/v1/telemetry', {
    samples: [{ battery_pct: 100, state: 'idle' }, { recorded_at: hourAgo }],
  });
  await post(first.apiKey, '/api/v1/events', { event_type: 'error', severity: 'error' });
  await service.claim(first);
  const stranger = await service.makeRobot(await service.signIn());
  await post(stranger.apiKey, '/api/v1/telemetry', { battery_pct: 5 });
  clock.advance(5 * 60_000 + 1);
  await post(second.apiKey, '/api/v1/telemetry', { battery_pct: 9.99, state: 'charging' });

  const { body } = await service.call('GET', '/api/v1/stats', { session: owner.session });

  expect(silent.id).not.toBe(first.id);
  expect(body.robots).toEqual({
    total: 3,
    online: 1,
    by_state: { offline: 1, charging: 1 },
    without_state: 1,
  });
  expect(body.battery).toEqual({ buckets: [1, 0, 0, 0, 0, 0, 0, 0, 0, 1], unknown: 1 });
  expect(body.tasks).toEqual({ claimed: 1, verified: 0 });
  expect(body.events_by_hour.at(-1)).toMatchObject({ info: 0, warn: 0, error: 1 });
  const samples = body.samples_by_hour.map((hour: { samples: number }) => hour.samples);
  expect(samples.slice(-2)).toEqual([1, 2]);
  expect(sum(samples)).toBe(3);
});

it('counts a robot online up to five minutes after it was seen', async () => {
  const owner = await service.signIn();
  const robot = await service.makeRobot(owner);
  await service.claim(robot);
  const online = async () =>
    (await service.call('GET', '/api/v1/stats', { session: owner.session })).body.robots.online;

  clock.advance(5 * 60_000);
  expect(await online()).toBe(1);

  clock.advance(1);
  expect(await online()).toBe(0);
});

it('returns the values of one fleet', async () => {
  const owner = await service.signIn();
  const { session } = owner;
  const robot = await service.makeRobot(owner);
  await service.makeRobot(owner);
  const { body } = await service.call('POST', '/api/v1/fleets', { session, body: { name: 'n' } });
  const fleetId = body.fleet.id;
  await service.call('PATCH', `/api/v1/robots/${robot.id}`, {
    session,
    body: { fleet_id: fleetId },
  });
  await service.call('POST', '/api/v1/telemetry', {
    apiKey: robot.apiKey,
    body: { state: 'idle' },
  });

  const ofFleet = await service.call('GET', `/api/v1/stats?fleet_id=${fleetId}`, { session });

  expect(ofFleet.body.robots).toMatchObject({ total: 1, by_state: { idle: 1 } });
  expect(ofFleet.body.samples_by_hour.at(-1).samples).toBe(1);
  const stranger = await service.signIn();
  const refused = await service.call('GET', `/api/v1/stats?fleet_id=${fleetId}`, {
    session: stranger.session,
  });
  expect([refused.status, refused.body.error]).toEqual([404, 'not_found']);
});

it('counts anchors and their cost, equal to the receipts and the ledger', async () => {
  const mining = await startTestService({ chain: 'mining' });
  try {
    const owner = await mining.signIn();
    const robot = await mining.makeRobot(owner);
    const before = await mining.store.getBalance(owner.wallet);
    const ids = [await mining.claim(robot), await mining.claim(robot)];
    const replies = await Promise.all(ids.map((id) => mining.complete(robot, id)));
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);

    const { body } = await mining.call('GET', '/api/v1/stats', { session: owner.session });

    const ledger = await mining.call('GET', '/api/v1/credits/ledger', { session: owner.session });
    const after = await mining.store.getBalance(owner.wallet);
    const spent = (before?.gasCreditWei ?? 0n) - (after?.gasCreditWei ?? 0n);
    const days: { anchors: number; gas_wei: string }[] = body.anchors_by_day;
    expect(sum(days.map(({ anchors }) => anchors))).toBe(2);
    expect(days.reduce((wei, { gas_wei }) => wei + BigInt(gas_wei), 0n)).toBe(spent);
    expect(body.tasks).toEqual({ claimed: 0, verified: 2 });
    const costs = ledger.body.items.flatMap(
      ({ cost_wei }: { cost_wei: string | null }) => cost_wei ?? [],
    );
    expect(costs).toHaveLength(2);
    expect(costs.reduce((wei: bigint, cost: string) => wei + BigInt(cost), 0n)).toBe(spent);
  } finally {
    await mining.close();
  }
});
