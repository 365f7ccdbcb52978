import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Robot } from '../../src/protocol/resources.ts';
import {
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';

const UNKNOWN = '018f0000-0000-7000-8000-000000000000';

describe('changing robots', () => {
  let service: TestService;
  let owner: Owner;
  let robot: TestRobot;
  beforeAll(async () => {
    service = await startTestService();
  });
  beforeEach(async () => {
    ({ owner, robot } = await service.signInWithRobot());
  });
  afterAll(() => service.close());

  const call = (method: string, path: string, body?: unknown, by = owner) =>
    service.call(method, `/api/v1${path}`, {
      session: by.session,
      ...(body === undefined ? {} : { body }),
    });
  const read = async (id = robot.id): Promise<Robot> =>
    (await call('GET', `/robots/${id}`)).body.robot;
  const makeFleet = async (by = owner): Promise<string> =>
    (await call('POST', '/fleets', { name: 'North' }, by)).body.fleet.id;

  it('reads one robot', async () => {
    const listed = await call('GET', '/robots');

    const reply = await call('GET', `/robots/${robot.id}`);

    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({ robot: listed.body.items[0] });
  });

  it('lets a robot read itself', async () => {
    const reply = await service.call('GET', '/api/v1/robot', { apiKey: robot.apiKey });

    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({ robot: await read() });
    expect(reply.headers.get('x-ratelimit-remaining')).toBe('599');
  });

  describe('one by one', () => {
    it('changes the given fields, clears those given as null, and keeps the rest', async () => {
      const before = await read();
      const fleet_id = await makeFleet();

      const first = await call('PATCH', `/robots/${robot.id}`, { description: 'left', fleet_id });
      const second = await call('PATCH', `/robots/${robot.id}`, { name: '🤖'.repeat(80) });
      const third = await call('PATCH', `/robots/${robot.id}`, {
        description: null,
        fleet_id: null,
      });

      const updated_at = expect.any(String);
      expect(first.status).toBe(200);
      expect(first.body.robot).toEqual({ ...before, description: 'left', fleet_id, updated_at });
      expect(second.body.robot).toEqual({
        ...first.body.robot,
        name: '🤖'.repeat(80),
        updated_at,
      });
      expect(third.body.robot).toEqual({ ...before, name: '🤖'.repeat(80), updated_at });
      expect(await read()).toEqual(third.body.robot);
    });

    it('keeps the key', async () => {
      const before = await read();

      const reply = await call('PATCH', `/robots/${robot.id}`, { name: 'arm-2' });

      expect(reply.body.robot.key_hint).toBe(before.key_hint);
      expect(reply.body.api_key).toBeUndefined();
      expect(await service.claim(robot)).toMatch(/^[0-9a-f-]{36}$/);
    });

    it.each<[string, object]>([
      ['nothing', {}],
      ['a null name', { name: null }],
      ['a blank name', { name: '\n' }],
      ['81 characters', { name: 'x'.repeat(81) }],
      ['a long description', { name: 'arm-2', description: 'x'.repeat(2001) }],
      ['a fleet that is no id', { name: 'arm-2', fleet_id: 'north' }],
      ['a key', { name: 'arm-2', api_key: `svc_${'0'.repeat(40)}` }],
      ['a key hint', { name: 'arm-2', key_hint: '00000000' }],
    ])('is refused with %s, and changes nothing', async (_, body) => {
      const before = await read();

      const reply = await call('PATCH', `/robots/${robot.id}`, body);

      expect(reply.status).toBe(400);
      expect(reply.body.error).toBe('invalid_request');
      expect(await read()).toEqual(before);
    });

    it('answers 404 with a fleet of another account, and changes nothing', async () => {
      const before = await read();
      const foreign = await makeFleet(await service.signIn());

      for (const fleet_id of [foreign, UNKNOWN]) {
        const reply = await call('PATCH', `/robots/${robot.id}`, { name: 'arm-2', fleet_id });
        expect(reply.status).toBe(404);
        expect(reply.body.message).toContain('fleet');
      }
      expect(await read()).toEqual(before);
    });
  });

  describe('in bulk', () => {
    it('moves robots into a fleet and out of it, and returns them in the given order', async () => {
      const fleet_id = await makeFleet();
      const other = await service.makeRobot(owner, 'arm-2');
      const left = await service.makeRobot(owner, 'arm-3');
      const robot_ids = [other.id, robot.id];

      const grouped = await call('POST', '/robots/bulk', { robot_ids, fleet_id });
      const fleet = await call('GET', `/fleets/${fleet_id}`);
      const ungrouped = await call('POST', '/robots/bulk', { robot_ids, fleet_id: null });

      expect(grouped.status).toBe(200);
      expect(grouped.body).toMatchObject({
        updated: 2,
        robots: robot_ids.map((id) => ({ id, fleet_id })),
      });
      expect(fleet.body.fleet.robot_count).toBe(2);
      expect((await read(left.id)).fleet_id).toBeNull();
      expect(ungrouped.body.robots.map((one: Robot) => one.fleet_id)).toEqual([null, null]);
    });

    it('accepts 100 robots, and no more', async () => {
      const ids = [robot.id];
      const robots = Array.from({ length: 100 }, () => service.makeRobot(owner));
      for (const { id } of await Promise.all(robots)) ids.push(id);
      const fleet_id = await makeFleet();

      const refused = await call('POST', '/robots/bulk', { robot_ids: ids, fleet_id });
      const taken = await call('POST', '/robots/bulk', { robot_ids: ids.slice(0, 100), fleet_id });

      expect(refused.status).toBe(400);
      expect(refused.body.message).toBe('robot_ids must have at most 100 items.');
      expect(taken.body.updated).toBe(100);
    });

    it('accepts an empty list', async () => {
      const reply = await call('POST', '/robots/bulk', { robot_ids: [], fleet_id: null });

      expect(reply.body).toEqual({ updated: 0, robots: [] });
    });

    it.each<[string, object]>([
      ['no robots', { fleet_id: null }],
      ['no fleet', { robot_ids: [] }],
      ['an id that is none', { robot_ids: ['x'], fleet_id: null }],
      ['an id twice', { robot_ids: [UNKNOWN, UNKNOWN], fleet_id: null }],
      ['one id', { robot_ids: UNKNOWN, fleet_id: null }],
    ])('is refused with %s', async (_, body) => {
      const reply = await call('POST', '/robots/bulk', body);

      expect(reply.status).toBe(400);
      expect(reply.body.error).toBe('invalid_request');
    });

    it('answers 404 with a robot or fleet of another account, and changes nothing', async () => {
      const stranger = await service.signIn();
      const theirs = await service.makeRobot(stranger);
      const fleet_id = await makeFleet();
      const foreign = await makeFleet(stranger);

      const robots = await call('POST', '/robots/bulk', {
        robot_ids: [robot.id, theirs.id],
        fleet_id,
      });
      const fleet = await call('POST', '/robots/bulk', {
        robot_ids: [robot.id],
        fleet_id: foreign,
      });

      expect([robots.status, fleet.status]).toEqual([404, 404]);
      expect(robots.body.error).toBe('not_found');
      expect((await read()).fleet_id).toBeNull();
    });
  });

  it.each<[string, string, unknown]>([
    ['GET', '', undefined],
    ['PATCH', '', { name: 'mine' }],
    ['DELETE', '', undefined],
    ['POST', '/rotate-key', undefined],
    ['DELETE', '/key', undefined],
  ])('is refused for another account: %s %s', async (method, rest, body) => {
    const before = await read();
    const stranger = await service.signIn();

    const reply = await call(method, `/robots/${robot.id}${rest}`, body, stranger);
    const unknown = await call(method, `/robots/${UNKNOWN}${rest}`, body);

    expect(reply.status).toBe(404);
    expect(unknown.body).toEqual(reply.body);
    expect(await read()).toEqual(before);
    expect(await service.claim(robot)).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    ['GET', `/api/v1/robots/${UNKNOWN}`],
    ['PATCH', `/api/v1/robots/${UNKNOWN}`],
    ['DELETE', `/api/v1/robots/${UNKNOWN}`],
    ['POST', `/api/v1/robots/${UNKNOWN}/rotate-key`],
    ['DELETE', `/api/v1/robots/${UNKNOWN}/key`],
    ['POST', '/api/v1/robots/bulk'],
  ])('needs a session: %s %s', async (method, path) => {
    const byKey = await service.call(method, path, { apiKey: robot.apiKey });
    const byNobody = await service.call(method, path);

    expect(byKey.body.error).toBe('missing_session');
    expect(byNobody.body.error).toBe('missing_session');
  });
});
