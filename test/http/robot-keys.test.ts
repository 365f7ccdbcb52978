import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

describe('the key of a robot', () => {
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

  const manage = (method: string, rest: string) =>
    service.call(method, `/api/v1/robots/${robot.id}${rest}`, { session: owner.session });
  const rotate = () => manage('POST', '/rotate-key');
  const itself = (apiKey: string) => service.call('GET', '/api/v1/robot', { apiKey });

  it('is replaced by one that is shown once, and is revoked immediately', async () => {
    const before = (await itself(robot.apiKey)).body.robot;

    const reply = await rotate();

    const { api_key } = reply.body;
    const [old, fresh] = await Promise.all([itself(robot.apiKey), itself(api_key)]);
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      robot: {
        ...before,
        key_hint: expect.stringMatching(/^[0-9a-f]{8}$/),
        updated_at: expect.any(String),
      },
      api_key: expect.stringMatching(/^svc_[0-9a-f]{40}$/),
    });
    expect(reply.body.robot.key_hint).not.toBe(before.key_hint);
    expect(old.status).toBe(401);
    expect(old.body.error).toBe('invalid_api_key');
    expect(fresh.body.robot).toEqual(reply.body.robot);
    expect(service.logLines.join('')).not.toContain(api_key);
  });

  it.each<[string, Record<string, string>]>([
    ['no headers of a body', {}],
    ['a length of 0', { 'content-length': '0' }],
    ['the type of JSON', { 'content-type': 'application/json' }],
    ['the type of a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['the type of a text, and a length', { 'content-type': 'text/plain', 'content-length': '0' }],
    ['chunks', { 'transfer-encoding': 'chunked' }],
    ['chunks of a text', { 'transfer-encoding': 'chunked', 'content-type': 'text/plain' }],
  ])('is replaced by a request without a body that has %s', async (_, headers) => {
    const session = `svc_session=${owner.session}`;
    const sent = request(`${service.url}/api/v1/robots/${robot.id}/rotate-key`, {
      method: 'POST',
      headers: { ...headers, cookie: session, origin: service.url },
    });
    sent.end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();

    expect(answer.statusCode).toBe(200);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded'])(
    'stays when the request has a body of the type %s',
    async (type) => {
      const reply = await service.call('POST', `/api/v1/robots/${robot.id}/rotate-key`, {
        session: owner.session,
        raw: 'a=1',
        headers: { 'content-type': type },
      });

      expect([reply.status, reply.body.error]).toEqual([415, 'unsupported_media_type']);
      expect((await itself(robot.apiKey)).status).toBe(200);
    },
  );

  it('keeps the tasks when it is replaced', async () => {
    const id = await service.claim(robot);
    const { api_key } = (await rotate()).body;

    const reply = await service.call('GET', `/api/v1/tasks/${id}`, { apiKey: api_key });

    expect(reply.body.task.id).toBe(id);
  });

  it('keeps counting the calls of the robot when it is replaced', async () => {
    await itself(robot.apiKey);
    const { api_key } = (await rotate()).body;

    const reply = await itself(api_key);

    expect(reply.headers.get('x-ratelimit-remaining')).toBe('598');
  });

  it('is revoked without a replacement, keeps the tasks, and can be created again', async () => {
    const id = await service.claim(robot);

    const reply = await manage('DELETE', '/key');
    const again = await manage('DELETE', '/key');

    const old = await itself(robot.apiKey);
    const task = await service.call('GET', `/api/v1/tasks/${id}`, { session: owner.session });
    const rotated = await rotate();
    expect(reply.status).toBe(200);
    expect(reply.body.robot).toMatchObject({ id: robot.id, key_hint: null });
    expect(again.status).toBe(200);
    expect(old.body.error).toBe('invalid_api_key');
    expect(task.body.task.id).toBe(id);
    expect((await itself(rotated.body.api_key)).status).toBe(200);
  });

  it('accepts only an empty object where no body is needed', async () => {
    const path = `/api/v1/robots/${robot.id}/rotate-key`;
    const { session } = owner;

    const empty = await service.call('POST', path, { session, body: {} });
    const full = await service.call('POST', path, { session, body: { key: 'mine' } });

    expect(empty.status).toBe(200);
    expect(full.body.error).toBe('invalid_request');
    expect((await itself(empty.body.api_key)).status).toBe(200);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['rotated', () => rotate()],
    ['deleted', () => manage('DELETE', '/key')],
    ['deleted with its robot', () => manage('DELETE', '')],
  ])('writes nothing for a call that was authenticated before the key was %s', async (_, end) => {
    const claim = await startClaim();

    await end();
    const answer = await claim.finish();

    expect(answer.status).toBe(401);
    expect(answer.body.error).toBe('invalid_api_key');
    expect(await service.store.checkInvariants()).toEqual([]);
  });

  it('writes for a call that it authenticated while it is valid', async () => {
    const claim = await startClaim();

    const answer = await claim.finish();

    expect(answer.status).toBe(201);
  });

  /** A claim that is authenticated, and whose body is still to come. */
  async function startClaim() {
    const body = JSON.stringify({ title: 'Sort the parcels' });
    const left = async () => {
      const reply = await itself(robot.apiKey);
      return Number(reply.headers.get('x-ratelimit-remaining'));
    };
    const before = await left();
    const pending = request(`${service.url}/api/v1/tasks`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${robot.apiKey}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    });
    pending.flushHeaders();
    let looks = 0;
    // Authentication counts the call, so that one more is gone than was looked.
    await waitFor('the call to be authenticated', async () => {
      looks += 1;
      return (await left()) < before - looks;
    });
    return {
      async finish() {
        pending.end(body);
        const [response] = (await once(pending, 'response')) as [IncomingMessage];
        const chunks = await response.toArray();
        return { status: response.statusCode, body: JSON.parse(Buffer.concat(chunks).toString()) };
      },
    };
  }
});
