import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestClock } from '../support/clock.ts';
import { type Owner, startTestService, type TestService } from '../support/service.ts';

const clock = createTestClock();
let service: TestService;
let owner: Owner;
let robot: { id: string; apiKey: string };
beforeAll(async () => {
  service = await startTestService({ clock });
  owner = await service.signIn();
  robot = await service.makeRobot(owner, '=cmd');
  const post = (path: string, body: object) =>
    service.call('POST', path, { apiKey: robot.apiKey, body });
  await post('/api/v1/telemetry', { samples: [{ state: 'busy' }, { state: 'idle' }] });
  await post('/api/v1/events', { event_type: 'stall', severity: 'error' });
  await service.claim(robot);
});
afterAll(() => service.close());

const read = (query: string) =>
  service.call('GET', `/api/v1/report${query}`, { session: owner.session });

it('reports the last 7 days, in whole hours', async () => {
  const { status, body } = await read('');

  expect(status).toBe(200);
  expect(body).toEqual({
    from: '2026-01-08T13:00:00.000Z',
    to: '2026-01-15T13:00:00.000Z',
    hours: 168,
    robots: [
      {
        robot_id: robot.id,
        name: '=cmd',
        fleet_id: null,
        reported_hours: 1,
        state_hours: { busy: 0.5, idle: 0.5 },
      },
    ],
    errors: { total: 1, by_type: [{ event_type: 'stall', events: 1 }] },
    tasks: [{ status: 'claimed', outcome: null, tasks: 1 }],
    cost: { anchors: 0, gas_wei: '0', gas_wei_per_anchor: null },
  });
});

it('is one CSV table on request', async () => {
  const period = '?from=2026-01-14T13:00:00Z&to=2026-01-15T13:00:00Z';

  const response = await fetch(`${service.url}/api/v1/report${period}`, {
    headers: { cookie: `svc_session=${owner.session}`, accept: 'text/csv' },
  });

  expect((await response.text()).split('\r\n')).toEqual([
    'section,robot_id,robot,fleet_id,name,value',
    `"hours","${robot.id}","'=cmd",,"state busy",0.5`,
    `"hours","${robot.id}","'=cmd",,"state idle",0.5`,
    `"hours","${robot.id}","'=cmd",,"reported",1`,
    `"hours","${robot.id}","'=cmd",,"not reported",23`,
    '"errors",,,,"stall",1',
    '"tasks",,,,"claimed",1',
    '"cost",,,,"anchors",0',
    '"cost",,,,"gas_wei","0"',
    '"cost",,,,"gas_wei_per_anchor",',
    '',
  ]);
});

it.each([
  ['a period without an hour', '?from=2026-01-15T00:00:00Z&to=2026-01-15T00:00:00Z', 400],
  ['a period of more than 31 days', '?from=2025-11-01T00:00:00Z', 400],
  ['an unknown fleet', '?fleet_id=00000000-0000-7000-8000-000000000000', 404],
])('refuses %s', async (_what, query, expected) => {
  expect((await read(query)).status).toBe(expected);
});
