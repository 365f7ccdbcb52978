import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { type Owner, startTestService, type TestService } from '../support/service.ts';

describe('robots', () => {
  let service: TestService;
  let owner: Owner;
  beforeAll(async () => {
    service = await startTestService();
  });
  beforeEach(async () => {
    owner = await service.signIn();
  });
  afterAll(() => service.close());

  const create = (body: unknown) =>
    service.call('POST', '/api/v1/robots', { session: owner.session, body });
  const list = (query = '') =>
    service.call('GET', `/api/v1/robots${query}`, { session: owner.session });

  it('are created with a key that is shown once', async () => {
    const reply = await create({ name: 'arm-1', description: 'north hall' });

    const listed = await list();
    expect(reply.status).toBe(201);
    expect(reply.body).toEqual({
      robot: {
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
        name: 'arm-1',
        description: 'north hall',
        fleet_id: null,
        key_hint: expect.stringMatching(/^[0-9a-f]{8}$/),
        created_at: expect.stringMatching(/\.\d{3}Z$/),
        updated_at: reply.body.robot.created_at,
        last_seen_at: null,
        battery_pct: null,
        battery_low_since: null,
        state: null,
        state_since: null,
        state_at: null,
        clock_behind_s: null,
        last_error: null,
        current_task: null,
      },
      api_key: expect.stringMatching(/^svc_[0-9a-f]{40}$/),
    });
    expect(JSON.stringify(listed.body)).not.toContain(reply.body.api_key);
  });

  it('show their newest error, and the task without a proof', async () => {
    const robot = await service.makeRobot(owner);
    const shown = async () => {
      const path = `/api/v1/robots/${robot.id}`;
      return (await service.call('GET', path, { session: owner.session })).body.robot;
    };
    const report = async (severity: string, message: string) => {
      const body = { event_type: 'fault', severity, message, occurred_at: '2026-01-15T10:00:00Z' };
      return (await service.call('POST', '/api/v1/events', { apiKey: robot.apiKey, body })).body;
    };
    await report('error', 'first');
    const { event } = await report('error', 'x'.repeat(300));
    await report('warn', 'later');
    const id = await service.claim(robot, { title: 'Weld' });

    const { last_error, current_task } = await shown();
    expect(last_error).toEqual({
      event_id: event.id,
      event_type: 'fault',
      message: 'x'.repeat(200),
      occurred_at: event.occurred_at,
      created_at: event.created_at,
    });
    expect(current_task).toMatchObject({ id, title: 'Weld' });
  });

  it('have a null description if none was given', async () => {
    const reply = await create({ name: 'arm-1' });

    expect(reply.body.robot.description).toBeNull();
  });

  it.each([
    ['no name', {}],
    ['a name that is no text', { name: 7 }],
    ['a null name', { name: null }],
    ['an empty name', { name: '' }],
    ['a blank name', { name: ' \t ' }],
    ['81 characters', { name: 'x'.repeat(81) }],
    ['U+0000 in the name', { name: 'arm\u0000' }],
    ['a long description', { name: 'arm', description: 'x'.repeat(2001) }],
    ['an unknown field', { name: 'arm', fleet: 'x' }],
    ['a member for the prototype', '{"name":"arm","__proto__":{"a":1}}'],
  ])('are not created with %s', async (_, body) => {
    const reply = await service.call('POST', '/api/v1/robots', {
      session: owner.session,
      ...(typeof body === 'string' ? { raw: body } : { body }),
    });

    const listed = await list();
    expect(reply.status).toBe(400);
    expect(reply.body.error).toBe('invalid_request');
    expect(listed.body.items).toEqual([]);
  });

  it('accept names of 80 characters, counted as code points', async () => {
    const name = '🤖'.repeat(80);

    const reply = await create({ name, description: '🤖'.repeat(2000) });

    expect(reply.body.robot.name).toBe(name);
  });

  it('are listed oldest first, in pages', async () => {
    for (const name of ['a', 'b', 'c']) await create({ name });

    const first = await list('?limit=2');
    const second = await list(`?limit=2&cursor=${first.body.next_cursor}`);

    const names = (reply: typeof first) => reply.body.items.map((robot: Named) => robot.name);
    expect(names(first)).toEqual(['a', 'b']);
    expect(names(second)).toEqual(['c']);
    expect(second.body.next_cursor).toBeNull();
  });

  it('are listed for their own account only', async () => {
    await create({ name: 'mine' });
    const other = await service.signIn();

    const reply = await service.call('GET', '/api/v1/robots', { session: other.session });

    expect(reply.body).toEqual({ items: [], next_cursor: null });
  });

  it.each(['?limit=0', '?limit=201', '?limit=x', '?limit=1&limit=2', '?cursor=x', '?page=2'])(
    'are not listed with %s',
    async (query) => {
      const reply = await list(query);

      expect(reply.body.error).toBe('invalid_request');
    },
  );

  it('stop at the ceiling of an account', async () => {
    const create = (index: number) =>
      service.store.createRobot({
        id: `00000000-0000-7000-8000-${index.toString().padStart(12, '0')}`,
        wallet: owner.wallet,
        name: `arm-${index}`,
        description: null,
        keyHash: index.toString(16).padStart(64, '0'),
        createdAt: index,
      });
    for (let index = 0; index < limits.robotsPerAccount; index++) await create(index);

    const reply = await service.call('POST', '/api/v1/robots', {
      session: owner.session,
      body: { name: 'one too many' },
    });

    expect(reply.status).toBe(409);
    expect(reply.body.error).toBe('robot_limit_reached');
  });
});

interface Named {
  name: string;
}
