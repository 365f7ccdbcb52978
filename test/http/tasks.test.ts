import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Owner,
  startServiceWithRobot,
  type TestRobot,
  type TestService,
} from '../support/service.ts';

describe('claiming a task', () => {
  let service: TestService;
  let owner: Owner;
  let robot: TestRobot;
  beforeAll(async () => {
    ({ service, owner, robot } = await startServiceWithRobot());
  });
  afterAll(() => service.close());

  const claim = (body: unknown, apiKey = robot.apiKey) =>
    service.call('POST', '/api/v1/tasks', { apiKey, body });
  const read = (id: string, credential: { apiKey: string } | { session: string } = robot) =>
    service.call('GET', `/api/v1/tasks/${id}`, {
      ...('apiKey' in credential ? { apiKey: credential.apiKey } : { session: credential.session }),
    });

  it('returns the claimed task and the next step', async () => {
    const reply = await claim({ title: 'Sort the parcels' });

    expect(reply.status).toBe(201);
    expect(reply.body).toEqual({
      task: {
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
        title: 'Sort the parcels',
        description: null,
        status: 'claimed',
        created_at: expect.stringMatching(/\.\d{3}Z$/),
      },
      next: expect.stringContaining(`POST /api/v1/tasks/${reply.body.task.id}/complete`),
    });
  });

  it('stores all claimed fields', async () => {
    const expected_result = { picked: 12, nested: { z: [1, null, 'ü'], a: 0.1 } };
    const { body } = await claim({
      title: 'Sort',
      description: 'belt 3',
      expected_result,
      occurred_at: '2026-03-01T10:00:00+02:00',
    });

    const reply = await read(body.task.id);

    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      task: {
        ...body.task,
        description: 'belt 3',
        expected_result,
        occurred_at: '2026-03-01T08:00:00.000Z',
        robot_id: robot.id,
        credit_refused_at: null,
        outcome: null,
      },
      anchor: null,
      verification: null,
    });
  });

  it('returns null for missing fields', async () => {
    const { body } = await claim({ title: 'Sort' });

    const reply = await read(body.task.id);

    expect(reply.body.task).toMatchObject({
      description: null,
      expected_result: null,
      occurred_at: null,
    });
  });

  it('shows a task only to its robot and its account', async () => {
    const id = await service.claim(robot);
    const sibling = await service.makeRobot(owner, 'arm-2');
    const stranger = await service.signIn();

    expect((await read(id)).status).toBe(200);
    expect((await read(id, owner)).status).toBe(200);
    expect((await read(id, sibling)).body.error).toBe('not_found');
    expect((await read(id, stranger)).body.error).toBe('not_found');
    expect((await read(randomUUID())).body.error).toBe('not_found');
  });

  it.each([
    'x',
    '018F0000-0000-7000-8000-00000000000A',
    '%00',
    '%ff',
    '018f0000-0000-7000-8000-00000000000a0',
  ])('finds no task %s', async (id) => {
    const reply = await read(id);

    expect(reply.status).toBe(404);
    expect(reply.body.error).toBe('not_found');
  });

  describe("with the caller's id", () => {
    it('returns the stored task if repeated, with members in any order', async () => {
      const id = randomUUID();
      const first = await claim({ id, title: 'Sort', expected_result: { a: 1, b: 2 } });

      const again = await service.call('POST', '/api/v1/tasks', {
        apiKey: robot.apiKey,
        raw: `{"expected_result":{"b":2,"a":1.0},"title":"Sort","id":"${id}"}`,
      });

      expect(again.status).toBe(201);
      expect(again.body).toEqual(first.body);
    });

    it.each([
      ['another title', { title: 'Pack' }],
      ['a description', { title: 'Sort', description: 'x' }],
      ['an expected result', { title: 'Sort', expected_result: {} }],
      ['a time', { title: 'Sort', occurred_at: '2026-03-01' }],
    ])('conflicts with %s', async (_, content) => {
      const id = randomUUID();
      await claim({ id, title: 'Sort' });

      const reply = await claim({ id, ...content });

      expect(reply.status).toBe(409);
      expect(reply.body.error).toBe('id_conflict');
      expect((await read(id)).body.task.title).toBe('Sort');
    });

    it('conflicts with the task of another robot, without naming it', async () => {
      const id = randomUUID();
      await claim({ id, title: 'Sort' });
      const other = await service.makeRobot(await service.signIn());

      const reply = await claim({ id, title: 'Sort' }, other.apiKey);

      expect(reply.body.error).toBe('id_conflict');
      expect(JSON.stringify(reply.body)).not.toContain(robot.id);
    });

    it('stores one task for concurrent repeats', async () => {
      const id = randomUUID();

      const replies = await Promise.all(
        Array.from({ length: 20 }, () => claim({ id, title: 'Sort' })),
      );

      expect(new Set(replies.map(({ body }) => JSON.stringify(body))).size).toBe(1);
      expect(replies.every(({ status }) => status === 201)).toBe(true);
    });
  });

  it('accepts a title of 200 code points and an expected result of 64 KiB', async () => {
    const reply = await claim({
      title: '🤖'.repeat(200),
      expected_result: { text: 'x'.repeat(64 * 1024 - '{"text":""}'.length) },
    });

    expect(reply.status).toBe(201);
  });

  it('measures the expected result in canonical form', async () => {
    const text = 'x'.repeat(64 * 1024 - '{"text":""}'.length);

    const padded = await service.call('POST', '/api/v1/tasks', {
      apiKey: robot.apiKey,
      raw: `{"title":"Sort","expected_result":{   "text":"\\u0078${text.slice(1)}"   }}`,
    });
    const tooLarge = await claim({ title: 'Sort', expected_result: { text: `${text}x` } });

    expect(padded.status).toBe(201);
    expect(tooLarge.status).toBe(413);
    expect(tooLarge.body.error).toBe('payload_too_large');
    expect(tooLarge.body.message).toContain('expected_result must have at most 65536 bytes');
  });
});
