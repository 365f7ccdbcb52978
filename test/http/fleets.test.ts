import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Fleet } from '../../src/protocol/fleets.ts';
import { limits } from '../../src/protocol/limits.ts';
import { type Owner, startTestService, type TestService } from '../support/service.ts';
import type { Reply } from '../support/wire.ts';

const UNKNOWN = '018f0000-0000-7000-8000-000000000000';

describe('fleets', () => {
  let service: TestService;
  let owner: Owner;
  beforeAll(async () => {
    service = await startTestService();
  });
  beforeEach(async () => {
    owner = await service.signIn();
  });
  afterAll(() => service.close());

  const call = (method: string, path: string, body?: unknown, by = owner) =>
    service.call(method, `/api/v1${path}`, {
      session: by.session,
      ...(body === undefined ? {} : { body }),
    });
  const create = (body: unknown = { name: 'North' }, by = owner) =>
    call('POST', '/fleets', body, by);
  const list = (query = '') => call('GET', `/fleets${query}`);
  const names = (reply: Reply) =>
    (reply.body.items ?? reply.body.fleets).map((fleet: Fleet) => fleet.name);

  async function made(...all: string[]): Promise<string[]> {
    const ids: string[] = [];
    for (const name of all) ids.push((await create({ name })).body.fleet.id);
    return ids;
  }

  it('are created with the given fields, and null or empty values for the rest', async () => {
    const full = await create({
      name: 'North',
      description: 'day crew',
      location: 'Hall 3',
      shift: 'early',
      tags: ['picking', 'cold'],
    });
    const bare = await create({ name: 'South' });

    expect(full.status).toBe(201);
    expect(full.body).toEqual({
      fleet: {
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
        name: 'North',
        description: 'day crew',
        location: 'Hall 3',
        shift: 'early',
        tags: ['picking', 'cold'],
        sort_order: 0,
        robot_count: 0,
        created_at: expect.stringMatching(/\.\d{3}Z$/),
        updated_at: full.body.fleet.created_at,
      },
    });
    expect(bare.body.fleet).toMatchObject({
      description: null,
      location: null,
      shift: null,
      tags: [],
      sort_order: 1,
    });
  });

  const full = {
    name: '🤖'.repeat(80),
    description: '🤖'.repeat(2000),
    location: '🤖'.repeat(200),
    shift: '🤖'.repeat(200),
    tags: Array.from({ length: 20 }, () => '🤖'.repeat(32)),
  };

  it('accept every field at its limit, counted as code points', async () => {
    const created = await create(full);
    const read = await call('GET', `/fleets/${created.body.fleet.id}`);

    expect(created.status).toBe(201);
    expect(read.body.fleet).toMatchObject(full);
  });

  const misshapen: [string, object][] = [
    ['a blank name', { name: ' ' }],
    ['a null name', { name: null }],
    ['81 characters of a name', { name: 'x'.repeat(81) }],
    ['a long description', { description: 'x'.repeat(2001) }],
    ['a long location', { location: 'x'.repeat(201) }],
    ['a long shift', { shift: 'x'.repeat(201) }],
    ['U+0000 in a tag', { tags: ['a\u0000'] }],
    ['21 tags', { tags: Array(21).fill('x') }],
    ['a tag of 33 characters', { tags: ['x'.repeat(33)] }],
    ['a tag that is no text', { tags: [7] }],
    ['one text for tags', { tags: 'cold' }],
    ['an unknown field', { color: 'red' }],
  ];

  it.each<[string, object]>([...misshapen, ['a place in the order', { sort_order: 1 }]])(
    'are not created with %s',
    async (_, fault) => {
      const reply = await create({ name: 'North', ...fault });

      expect(reply.status).toBe(400);
      expect(reply.body.error).toBe('invalid_request');
      expect((await list()).body.items).toEqual([]);
    },
  );

  it('are not created without a name', async () => {
    const reply = await create({});

    expect(reply.body).toMatchObject({ error: 'invalid_request' });
    expect(reply.body.message).toContain('name is required');
  });

  it('stop at the ceiling of an account, under concurrent creation too', async () => {
    const replies = await Promise.all(
      Array.from({ length: limits.fleetsPerAccount + 10 }, () => create()),
    );

    const refused = replies.filter(({ status }) => status === 409);
    expect(refused).toHaveLength(10);
    expect(refused[0]?.body.error).toBe('fleet_limit_reached');
    expect((await list('?limit=200')).body.items).toHaveLength(limits.fleetsPerAccount);
  });

  it('are listed in display order, in pages', async () => {
    const [a] = await made('a', 'b', 'c');
    await call('PATCH', `/fleets/${a}`, { sort_order: 5 });

    const first = await list('?limit=2');
    const second = await list(`?limit=2&cursor=${first.body.next_cursor}`);

    expect(names(first)).toEqual(['b', 'c']);
    expect(names(second)).toEqual(['a']);
    expect(second.body.next_cursor).toBeNull();
  });

  it.each(['?cursor=x', `?cursor=${UNKNOWN}`, '?cursor=-1_x', '?limit=0', '?page=1'])(
    'are not listed with %s',
    async (query) => {
      expect((await list(query)).body.error).toBe('invalid_request');
    },
  );

  describe('changing', () => {
    it('changes the given fields, clears those given as null, and keeps the rest', async () => {
      const { fleet } = (await create(full)).body;

      const first = await call('PATCH', `/fleets/${fleet.id}`, { location: null, tags: ['new'] });
      const second = await call('PATCH', `/fleets/${fleet.id}`, { sort_order: 3, name: 'South' });

      const changed = { ...fleet, location: null, tags: ['new'] };
      const { updated_at } = second.body.fleet;
      expect(first.status).toBe(200);
      expect(first.body.fleet).toEqual({ ...changed, updated_at: first.body.fleet.updated_at });
      expect(second.body.fleet).toEqual({ ...changed, name: 'South', sort_order: 3, updated_at });
      expect(updated_at >= fleet.updated_at).toBe(true);
      expect((await call('GET', `/fleets/${fleet.id}`)).body).toEqual(second.body);
    });

    it('accepts null for every writable text, and the highest order', async () => {
      const { fleet } = (await create(full)).body;
      const nulls = { description: null, location: null, shift: null };

      const reply = await call('PATCH', `/fleets/${fleet.id}`, {
        ...nulls,
        tags: [],
        sort_order: Number.MAX_SAFE_INTEGER,
      });

      expect(reply.body.fleet).toMatchObject({ ...nulls, tags: [] });
      expect(reply.body.fleet.sort_order).toBe(Number.MAX_SAFE_INTEGER);
    });

    it.each<[string, object]>([
      ...misshapen,
      ['a negative order', { sort_order: -1 }],
      ['a fractional order', { sort_order: 1.5 }],
      ['an order that is a text', { sort_order: '1' }],
      ['a null order', { sort_order: null }],
      ['its own id', { id: UNKNOWN }],
      ['a count of robots', { robot_count: 1 }],
    ])('is refused with %s, and changes nothing', async (_, fault) => {
      const { fleet } = (await create()).body;

      const reply = await call('PATCH', `/fleets/${fleet.id}`, { shift: 'late', ...fault });

      expect(reply.status).toBe(400);
      expect(reply.body.error).toBe('invalid_request');
      expect((await call('GET', `/fleets/${fleet.id}`)).body.fleet).toEqual(fleet);
    });

    it('is refused if no field is given', async () => {
      const [id] = await made('a');

      const reply = await call('PATCH', `/fleets/${id}`, {});

      expect(reply.status).toBe(400);
      expect(reply.body.error).toBe('invalid_request');
      expect(reply.body.message).toBe('The body must have at least one member.');
    });
  });

  it('leave their robots without a fleet when they are deleted', async () => {
    const [id] = await made('a');
    const robot = await service.makeRobot(owner);
    await call('PATCH', `/robots/${robot.id}`, { fleet_id: id });
    const counted = await call('GET', `/fleets/${id}`);

    const reply = await call('DELETE', `/fleets/${id}`);

    expect(counted.body.fleet.robot_count).toBe(1);
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({ deleted: true });
    expect((await call('GET', `/robots/${robot.id}`)).body.robot.fleet_id).toBeNull();
    expect((await call('GET', `/fleets/${id}`)).status).toBe(404);
    expect((await call('DELETE', `/fleets/${id}`)).status).toBe(404);
  });

  describe('reordering', () => {
    it('puts the named fleets first and keeps the others after them', async () => {
      const [, b, , d] = await made('a', 'b', 'c', 'd');

      const reply = await call('POST', '/fleets/reorder', { order: [d, b] });

      expect(reply.status).toBe(200);
      expect(names(reply)).toEqual(['d', 'b', 'a', 'c']);
      expect(reply.body.fleets.map((fleet: Fleet) => fleet.sort_order)).toEqual([0, 1, 2, 3]);
      expect(names(await list())).toEqual(['d', 'b', 'a', 'c']);
    });

    it('changes no order with an empty list', async () => {
      await made('a', 'b');

      const reply = await call('POST', '/fleets/reorder', { order: [] });

      expect(names(reply)).toEqual(['a', 'b']);
    });

    it('refuses an id that repeats', async () => {
      const [a, b] = await made('a', 'b');

      const reply = await call('POST', '/fleets/reorder', { order: [b, a, b] });

      expect(reply.status).toBe(400);
      expect(reply.body).toEqual({
        error: 'invalid_request',
        message: 'order must not contain duplicates.',
      });
      expect(names(await list())).toEqual(['a', 'b']);
    });

    it.each<[string, unknown]>([
      ['no order', {}],
      ['a null order', { order: null }],
      ['an id that is none', { order: ['x'] }],
    ])('refuses %s', async (_, body) => {
      const reply = await call('POST', '/fleets/reorder', body);

      expect(reply.body.error).toBe('invalid_request');
    });

    it('answers 404 with a fleet of another account, and changes nothing', async () => {
      const [a, b] = await made('a', 'b');
      const foreign = (await create({ name: 'theirs' }, await service.signIn())).body.fleet.id;

      const reply = await call('POST', '/fleets/reorder', { order: [b, foreign, a] });

      expect(reply.status).toBe(404);
      expect(reply.body.error).toBe('not_found');
      expect(names(await list())).toEqual(['a', 'b']);
    });
  });

  it.each<[string, unknown]>([
    ['GET', undefined],
    ['PATCH', { name: 'mine' }],
    ['DELETE', undefined],
  ])('are not found for another account: %s', async (method, body) => {
    const [id] = await made('a');
    const stranger = await service.signIn();

    const reply = await call(method, `/fleets/${id}`, body, stranger);
    const unknown = await call(method, `/fleets/${UNKNOWN}`, body);

    expect(reply.status).toBe(404);
    expect(unknown.body).toEqual(reply.body);
    expect(names(await list())).toEqual(['a']);
  });

  it.each([
    ['POST', '/api/v1/fleets'],
    ['GET', '/api/v1/fleets'],
    ['POST', '/api/v1/fleets/reorder'],
    ['GET', `/api/v1/fleets/${UNKNOWN}`],
    ['PATCH', `/api/v1/fleets/${UNKNOWN}`],
    ['DELETE', `/api/v1/fleets/${UNKNOWN}`],
  ])('need a session: %s %s', async (method, path) => {
    const robot = await service.makeRobot(owner);

    const byKey = await service.call(method, path, { apiKey: robot.apiKey });
    const byNobody = await service.call(method, path);

    expect(byKey.body.error).toBe('missing_session');
    expect(byNobody.body.error).toBe('missing_session');
  });
});
