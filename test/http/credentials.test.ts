import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  newWallet,
  type Owner,
  setCookieLine,
  startServiceWithRobot,
  type TestRobot,
  type TestService,
} from '../support/service.ts';

const ID = '018f0000-0000-7000-8000-000000000000';
const HASH = `0x${'ab'.repeat(32)}`;

describe('the credentials of a call', () => {
  let service: TestService;
  let owner: Owner;
  let robot: TestRobot;
  beforeAll(async () => {
    ({ service, owner, robot } = await startServiceWithRobot());
  });
  afterAll(() => service.close());

  const robotRoutes = [
    ['POST', '/api/v1/tasks'],
    ['POST', `/api/v1/tasks/${ID}/complete`],
    ['GET', `/api/v1/tasks/${ID}`],
  ] as const;

  describe.each(robotRoutes)('%s %s', (method, path) => {
    it('asks for a key', async () => {
      const reply = await service.call(method, path);

      expect(reply.status).toBe(401);
      expect(reply.body.error).toBe('missing_api_key');
    });

    it.each(['Basic c3ZjOng=', `svc_${'0'.repeat(40)}`])(
      'accepts only the scheme Bearer, and reports %s',
      async (authorization) => {
        const reply = await service.call(method, path, { headers: { authorization } });

        expect(reply.body.error).toBe('missing_api_key');
        expect(reply.body.message).toMatch(
          /^The Authorization header must begin with "Bearer "\. /,
        );
      },
    );

    it.each([`svc_${'0'.repeat(40)}`, 'svc_short', 'other', `svc_${'A'.repeat(40)}`])(
      'refuses the key %s',
      async (apiKey) => {
        const reply = await service.call(method, path, { apiKey });

        expect(reply.status).toBe(401);
        expect(reply.body.error).toBe('invalid_api_key');
      },
    );
  });

  it.each(robotRoutes.slice(0, 2))('%s %s refuses a session', async (method, path) => {
    const reply = await service.call(method, path, { session: owner.session });

    expect(reply.body.error).toBe('missing_api_key');
  });

  it.each([
    ['POST', '/api/v1/robots'],
    ['GET', '/api/v1/robots'],
  ])('%s %s refuses an API key', async (method, path) => {
    const reply = await service.call(method, path, { apiKey: robot.apiKey });

    expect(reply.status).toBe(401);
    expect(reply.body.error).toBe('missing_session');
  });

  it.each([
    ['POST', '/api/v1/robots'],
    ['GET', '/api/v1/robots'],
  ])('%s %s refuses an API key even with a session', async (method, path) => {
    const credentials = { session: owner.session, apiKey: robot.apiKey };

    const reply = await service.call(method, path, credentials);

    expect(reply.status).toBe(401);
    expect(reply.body.error).toBe('missing_session');
    expect(reply.body.message).toContain('This endpoint accepts no API key');
  });

  const missing = 'No session cookie was sent. Sign in first';
  const token = 'or send an account token as "Authorization: Bearer svct_…"';
  it.each([
    ['GET', '/api/v1/robots', `${missing}, ${token}.`],
    ['POST', '/api/v1/fleets', `${missing}, ${token}.`],
    ['GET', '/api/v1/sessions', `${missing}.`],
    [
      'GET',
      '/api/v1/tasks',
      'Send a robot API key or an account token as "Authorization: Bearer …", or sign in.',
    ],
    ['POST', '/api/v1/tasks', 'Send the robot API key as "Authorization: Bearer svc_…".'],
  ])('%s %s names the credentials that it accepts', async (method, path, message) => {
    const reply = await service.call(method, path);

    expect([reply.status, reply.body.message]).toEqual([401, message]);
  });

  it.each(['/api/v1/robots', '/api/v1/tasks'])(
    'GET %s reports a missing Bearer credential',
    async (path) => {
      const headers = { authorization: `svct_${'0'.repeat(40)}` };

      const reply = await service.call('GET', path, { headers });

      expect(reply.body.message).toMatch(/^The Authorization header must begin with "Bearer "\. /);
    },
  );

  it.each([
    ['/api/v1/robots', true],
    ['/api/v1/sessions', false],
  ])('GET %s suggests a token instead of an API key: %s', async (path, offered) => {
    const { body } = await service.call('GET', path, { apiKey: robot.apiKey });

    expect(body.message.includes(token)).toBe(offered);
  });

  it('authenticates before it reads a body', async () => {
    const reply = await service.call('POST', '/api/v1/tasks', { raw: '{"broken' });

    expect(reply.body.error).toBe('missing_api_key');
  });

  it('uses the Bearer key if both credentials are sent', async () => {
    const other = await service.makeRobot(await service.signIn());
    const id = await service.claim(robot);

    const reply = await service.call('GET', `/api/v1/tasks/${id}`, {
      session: owner.session,
      apiKey: other.apiKey,
    });

    expect(reply.body.error).toBe('not_found');
  });

  it.each([
    ['GET', '/nothing'],
    ['GET', '/api'],
    ['GET', '/api/v1/nothing'],
    ['POST', '/api/v1/nothing'],
    ['OPTIONS', '/api/v1/nothing'],
    ['GET', '/api/v1/task'],
    ['GET', '/API/CHAIN'],
    ['GET', '/api//chain'],
  ])('has no route %s %s', async (method, path) => {
    const reply = await service.call(method, path, {
      ...(method !== 'GET' && { raw: 'not json', headers: { 'content-type': 'text/plain' } }),
    });

    expect(reply.status).toBe(404);
    expect(reply.body.error).toBe('not_found');
  });

  describe('requests from other sites', () => {
    const foreign = ['https://evil.test', 'null', 'http://sub.127.0.0.1', 'http://127.0.0.1:1', ''];

    it.each(foreign)('refuses sign-in from Origin %j', async (origin) => {
      const reply = await service.call('POST', '/api/auth/challenge', {
        body: { address: newWallet().address },
        headers: { origin },
      });

      expect(reply.status).toBe(403);
      expect(reply.body.error).toBe('forbidden_origin');
    });

    it.each(foreign)('refuses a session mutation from Origin %j', async (origin) => {
      const reply = await service.call('POST', '/api/v1/robots', {
        session: owner.session,
        body: { name: 'never' },
        headers: { origin },
      });

      const robots = await service.call('GET', '/api/v1/robots', { session: owner.session });
      expect(reply.body.error).toBe('forbidden_origin');
      expect(robots.body.items).toHaveLength(1);
    });

    it('refuses a foreign sign-out', async () => {
      const headers = { origin: 'https://evil.test' };

      const reply = await service.call('POST', '/api/auth/logout', {
        session: owner.session,
        headers,
      });

      const use = await service.call('GET', '/api/v1/robots', { session: owner.session });
      expect(reply.body.error).toBe('forbidden_origin');
      expect(use.status).toBe(200);
    });

    it.each<[string, string]>([
      ['/api/auth/challenge', 'sign-in'],
      ['/api/auth/logout', 'sign-out'],
      ['/api/v1/robots', 'a session mutation'],
    ])('refuses %s with a Bearer key as well', async (path) => {
      const reply = await service.call('POST', path, {
        session: owner.session,
        apiKey: robot.apiKey,
        body: {},
        headers: { origin: 'https://evil.test' },
      });

      expect(reply.status).toBe(403);
      expect(reply.body.error).toBe('forbidden_origin');
    });

    it('accepts its own origin', async () => {
      const reply = await service.call('POST', '/api/auth/challenge', {
        body: { address: newWallet().address },
        headers: { origin: service.url },
      });

      expect(reply.status).toBe(200);
    });

    it('accepts a robot key from any origin', async () => {
      const reply = await service.call('POST', '/api/v1/tasks', {
        apiKey: robot.apiKey,
        body: { title: 'From a page' },
        headers: { origin: 'https://panel.test' },
      });

      expect(reply.status).toBe(201);
    });

    it.each([
      '/api/chain',
      `/api/v1/verify/${HASH}`,
      '/api/v1/verify/malformed',
      '/api/v1/verify/%ff',
    ])('lets any origin read GET %s', async (path) => {
      const reply = await service.call('GET', path, { headers: { origin: 'https://evil.test' } });

      expect(reply.headers.get('access-control-allow-origin')).toBe('*');
      expect(reply.headers.get('access-control-allow-credentials')).toBeNull();
    });

    it.each(['/api/v1/robots', '/healthz', '/readyz', '/nothing'])(
      'lets no other origin read GET %s',
      async (path) => {
        const reply = await service.call('GET', path, { headers: { origin: 'https://evil.test' } });

        expect(reply.headers.get('access-control-allow-origin')).toBeNull();
      },
    );
  });

  it('marks its cookies Secure if the service is reached over https', async () => {
    const own = service.settings.baseUrl;
    service.settings.baseUrl = 'https://svc.example';
    const { account } = owner;

    const challenge = await service.call('POST', '/api/auth/challenge', {
      body: { address: account.address },
    });
    const signature = await account.signMessage({ message: challenge.body.message });
    const signedIn = await service.call('POST', '/api/auth/verify', {
      body: { address: account.address, signature },
    });

    service.settings.baseUrl = own;
    expect(setCookieLine(challenge, 'svc_challenge')).toContain('; Secure');
    expect(setCookieLine(signedIn, 'svc_session')).toContain('; Secure');
  });

  it('answers with the request id it was given, or one of its own', async () => {
    const given = await service.call('GET', '/healthz', { headers: { 'x-request-id': 'run-7.a' } });
    const unfit = await service.call('GET', '/healthz', { headers: { 'x-request-id': 'a b' } });

    expect(given.headers.get('x-request-id')).toBe('run-7.a');
    expect(unfit.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });
});
