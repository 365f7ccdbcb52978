import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestClock } from '../support/clock.ts';
import {
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import type { Send } from '../support/wire.ts';

describe('ops events', () => {
  const clock = createTestClock();
  let service: TestService;
  let owner: Owner;
  let robot: TestRobot;
  beforeAll(async () => {
    service = await startTestService({ clock });
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    ({ owner, robot } = await service.signInWithRobot());
  });

  const post = (sent: Send) =>
    service.call('POST', '/api/v1/events', { apiKey: robot.apiKey, ...sent });
  const list = (query = '', session = owner.session) =>
    service.call('GET', `/api/v1/events${query}`, { session });

  it('are stored and listed', async () => {
    const body = {
      event_type: 'error',
      severity: 'warn',
      message: 'Wheel slips',
      payload: { wheel: 2 },
      occurred_at: '2026-03-01T10:00:00+02:00',
    };

    const reply = await post({ body });

    expect(reply.status).toBe(201);
    expect(reply.body.event).toEqual({
      ...body,
      occurred_at: '2026-03-01T08:00:00.000Z',
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      robot_id: robot.id,
      created_at: expect.stringMatching(/\.\d{3}Z$/),
    });
    expect((await list()).body).toEqual({ items: [reply.body.event], next_cursor: null });
  });

  it('are listed by when they occurred, however late they arrive, and never after their receipt', async () => {
    const at = (ms: number) => new Date(clock.now() + ms).toISOString();
    const report = (event_type: string, occurred_at: string) =>
      post({ body: { event_type, occurred_at } });
    await report('late', at(-7_200_000));
    await report('prompt', at(0));
    await report('ahead', at(7_200_000));
    const types = async (query: string) =>
      (await list(query)).body.items.map(({ event_type: type }: { event_type: string }) => type);

    expect(await types(`?from=${at(-7_200_000)}&to=${at(-1)}`)).toEqual(['late']);
    expect(await types(`?from=${at(-1)}&to=${at(1)}`)).toEqual(['ahead', 'prompt']);
  });

  it('are listed from the start of a period, excluding its end', async () => {
    const first = (await post({ body: { event_type: 'first' } })).body.event.created_at;
    clock.advance(1000);
    const last = (await post({ body: { event_type: 'last' } })).body.event.created_at;
    const types = async (query: string) =>
      (await list(query)).body.items.map(({ event_type: type }: { event_type: string }) => type);

    expect(await types(`?from=${first}&to=${last}`)).toEqual(['first']);
    expect(await types(`?from=${last}`)).toEqual(['last']);
  });

  it('get defaults for missing members', async () => {
    const reply = await post({ body: { event_type: 'info' } });

    expect(reply.body.event).toMatchObject({
      severity: 'info',
      message: '',
      payload: {},
      occurred_at: null,
    });
  });

  it.each<[string, string, string]>([
    ['invalid_event_type', 'no type', '{}'],
    ['invalid_event_type', 'a null type', '{"event_type":null}'],
    ['invalid_event_type', 'a blank type', '{"event_type":" "}'],
    ['invalid_event_type', 'a type of 65 characters', `{"event_type":"${'x'.repeat(65)}"}`],
    ['invalid_event_type', 'a type that is a number', '{"event_type":1}'],
    ['invalid_severity', 'an unknown severity', '{"event_type":"a","severity":"fatal"}'],
    ['invalid_severity', 'a severity in upper case', '{"event_type":"a","severity":"INFO"}'],
    ['invalid_request', 'a long message', `{"event_type":"a","message":"${'x'.repeat(2001)}"}`],
    ['invalid_request', 'a payload that is an array', '{"event_type":"a","payload":[]}'],
    ['invalid_request', 'a time that is no time', '{"event_type":"a","occurred_at":"now"}'],
    ['invalid_request', 'an id that is no UUID', '{"event_type":"a","id":"7"}'],
    ['invalid_request', 'an unknown field', '{"event_type":"a","level":1}'],
  ])('are refused as %s with %s', async (code, _, raw) => {
    const reply = await post({ raw });

    expect([reply.status, reply.body.error]).toEqual([400, code]);
    expect((await list()).body.items).toEqual([]);
  });

  it('accept every length up to its limit, in code points', async () => {
    const body = { event_type: '🤖'.repeat(64), message: '🤖'.repeat(2000) };

    expect((await post({ body })).status).toBe(201);
  });

  it('have at most 16 KiB of payload, measured in canonical form', async () => {
    const text = 'x'.repeat(16 * 1024 - '{"text":""}'.length);

    const exact = await post({ body: { event_type: 'a', payload: { text } } });
    const tooLarge = await post({ body: { event_type: 'a', payload: { text: `${text}x` } } });

    expect(exact.status).toBe(201);
    expect([tooLarge.status, tooLarge.body.error]).toEqual([413, 'payload_too_large']);
  });

  it('are returned as stored if the id repeats with the same content', async () => {
    const id = randomUUID();
    const first = await post({ body: { id, event_type: 'a', payload: { x: 1, y: 2 } } });

    const again = await post({
      raw: `{"payload":{"y":2,"x":1.0},"severity":"info","message":"","event_type":"a","id":"${id}"}`,
    });

    expect(again.status).toBe(201);
    expect(again.body).toEqual(first.body);
    expect((await list()).body.items).toHaveLength(1);
  });

  it('conflict if the id repeats with other content', async () => {
    const id = randomUUID();
    await post({ body: { id, event_type: 'a' } });

    const reply = await post({ body: { id, event_type: 'b' } });

    expect([reply.status, reply.body.error]).toEqual([409, 'id_conflict']);
  });

  it('are listed by severity, type and robot, in pages', async () => {
    const other = await service.makeRobot(owner, 'arm-2');
    for (const [apiKey, severity, event_type] of [
      [robot.apiKey, 'info', 'info'],
      [robot.apiKey, 'error', 'fault'],
      [other.apiKey, 'error', 'info'],
      [other.apiKey, 'warn', 'fault'],
    ] as const) {
      await post({ apiKey, body: { severity, event_type } });
    }
    const severities = async (query: string) =>
      (await list(query)).body.items.map(({ severity }: { severity: string }) => severity);

    expect(await severities('')).toEqual(['warn', 'error', 'error', 'info']);
    expect(await severities('?severity=error')).toEqual(['error', 'error']);
    expect(await severities('?event_type=fault')).toEqual(['warn', 'error']);
    expect(await severities(`?robot_id=${robot.id}`)).toEqual(['error', 'info']);
    expect(await severities(`?robot_id=${other.id}&event_type=fault&severity=warn`)).toEqual([
      'warn',
    ]);
    const first = await list('?limit=3');
    const rest = await list(`?limit=3&cursor=${first.body.next_cursor}`);
    expect([first.body.items.length, rest.body.items.length]).toEqual([3, 1]);
    expect(rest.body.next_cursor).toBeNull();
  });

  it('are hidden from other accounts', async () => {
    for (const event_type of ['a', 'b']) await post({ body: { event_type } });
    const stranger = await service.signIn();

    expect((await list('', stranger.session)).body.items).toEqual([]);
    const cursor = (await list('?limit=1')).body.next_cursor;
    const foreign = await list(`?cursor=${cursor}`, stranger.session);
    expect([foreign.status, foreign.body.error]).toEqual([400, 'invalid_request']);
    const reply = await list(`?robot_id=${robot.id}`, stranger.session);
    expect([reply.status, reply.body.error]).toEqual([404, 'not_found']);
  });

  it.each([
    '?severity=fatal',
    '?robot_id=7',
    '?event_type=',
    '?limit=0',
    '?cursor=7',
    '?level=info',
  ])('are not listed with %s', async (query) => {
    expect((await list(query)).body.error).toBe('invalid_request');
  });
});
