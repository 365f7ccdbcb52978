import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { createTestClock } from '../support/clock.ts';
import { type Owner, startTestService, type TestService } from '../support/service.ts';

const DAY = 24 * 60 * 60_000;

describe('account tokens', () => {
  const clock = createTestClock();
  let service: TestService;
  let owner: Owner;
  beforeAll(async () => {
    service = await startTestService({ clock });
  });
  beforeEach(async () => {
    owner = await service.signIn();
  });
  afterAll(() => service.close());

  const create = (members = {}, { session } = owner) =>
    service.call('POST', '/api/v1/tokens', {
      session,
      body: { name: 'report', scope: 'read', ...members },
    });
  const secretOf = async (members = {}) => (await create(members)).body.secret as string;
  const list = async ({ session } = owner) =>
    (await service.call('GET', '/api/v1/tokens', { session })).body.items;
  const me = (apiKey: string) => service.call('GET', '/api/v1/me', { apiKey });

  it('show their secret once, and never in a list or log', async () => {
    const { status, body } = await create({ name: 'nightly', scope: 'write' });

    expect(status).toBe(201);
    expect(body.secret).toMatch(/^svct_[0-9a-f]{40}$/);
    expect(body.token).toMatchObject({ name: 'nightly', scope: 'write', last_used_at: null });
    expect(await list()).toEqual([body.token]);
    const log = await service.call('GET', '/api/v1/audit-log', { session: owner.session });
    expect(JSON.stringify([await list(), log.body])).not.toContain(body.secret);
  });

  it('are created with a wallet signature, not by a session that a code opened', async () => {
    const { body: codes } = await service.call('POST', '/api/auth/cli/device', {
      body: { name: 'laptop' },
    });
    await service.call('POST', '/api/auth/cli/authorize', {
      session: owner.session,
      headers: { origin: service.url },
      body: { user_code: codes.user_code, decision: 'allow' },
    });
    const opened = await service.call('POST', '/api/auth/cli/token', {
      body: { device_code: codes.device_code },
    });
    const session = opened.body.token;

    const { status, body } = await create({}, { ...owner, session });
    expect([status, body.error]).toEqual([403, 'wallet_session_required']);
    const log = await service.call('GET', '/api/v1/audit-log', { session });
    expect(log.body.items[0]).toMatchObject({ kind: 'sign_in', detail: 'cli_code' });
    expect(await list({ ...owner, session })).toEqual([]);
  });

  it('act for the account, without a session or in preference to one', async () => {
    const secret = await secretOf();
    const other = await service.signIn();

    expect((await me(secret)).body.wallet).toBe(owner.wallet);
    const both = await service.call('GET', '/api/v1/me', {
      apiKey: secret,
      session: other.session,
    });
    expect(both.body.wallet).toBe(owner.wallet);
  });

  it('from a foreign origin need to be sent as a Bearer credential', async () => {
    const secret = await secretOf({ scope: 'write' });
    const headers = { origin: 'https://app.example.org' };
    const body = { name: 'South' };

    const byToken = await service.call('POST', '/api/v1/fleets', { apiKey: secret, headers, body });
    const byCookie = await service.call('POST', '/api/v1/fleets', {
      session: owner.session,
      headers,
      body,
    });

    expect([byToken.status, byCookie.body.error]).toEqual([201, 'forbidden_origin']);
  });

  it('last 90 days, or 1 to 365 days', async () => {
    const { body } = await create();
    const daysOf = (token: { created_at: string; expires_at: string }) =>
      (Date.parse(token.expires_at) - Date.parse(token.created_at)) / DAY;
    expect(daysOf(body.token)).toBe(90);
    const short = await create({ expires_in_days: 1 });
    expect(daysOf(short.body.token)).toBe(1);
    for (const days of [0, 366, 1.5]) {
      expect((await create({ expires_in_days: days })).body.error).toBe('invalid_request');
    }

    clock.advance(DAY - 1);
    expect((await me(short.body.secret)).status).toBe(200);
    clock.advance(1);
    expect((await me(short.body.secret)).body.error).toBe('invalid_token');
    expect((await list()).map(({ id }: { id: string }) => id)).toEqual([body.token.id]);
  });

  it('end at once when they are revoked, and only by their account', async () => {
    const { body } = await create();
    const path = `/api/v1/tokens/${body.token.id}`;
    const stranger = await service.signIn();

    const refused = await service.call('DELETE', path, { session: stranger.session });
    expect([refused.status, (await me(body.secret)).status]).toEqual([404, 200]);
    const revoked = await service.call('DELETE', path, { session: owner.session });
    expect(revoked.body).toEqual({ deleted: true });
    expect((await me(body.secret)).body.error).toBe('invalid_token');
    expect((await service.call('DELETE', path, { session: owner.session })).status).toBe(404);
  });

  it('are separate from sessions: neither list has the other, and neither route ends the other', async () => {
    const { body } = await create({ scope: 'write' });
    const sessions = await service.call('GET', '/api/v1/sessions', { session: owner.session });
    const [session] = sessions.body.items;

    expect(sessions.body.items).toMatchObject([{ signed_in_with: 'wallet', current: true }]);
    const endings = [
      service.call('DELETE', `/api/v1/sessions/${body.token.id}`, { session: owner.session }),
      service.call('DELETE', `/api/v1/tokens/${session.id}`, { session: owner.session }),
    ];
    expect((await Promise.all(endings)).map(({ status }) => status)).toEqual([404, 404]);
    expect((await me(body.secret)).status).toBe(200);
  });

  it('of scope read do not count toward the changes of their account', async () => {
    const secret = await secretOf();
    const left = async () => {
      const reply = await service.call('GET', '/api/v1/me', { session: owner.session });
      return Number(reply.headers.get('x-ratelimit-remaining'));
    };
    const before = await left();

    const body = { name: 'never' };
    const refused = await service.call('POST', '/api/v1/robots', { apiKey: secret, body });

    expect(refused.body.error).toBe('insufficient_scope');
    expect(await left()).toBe(before);
  });

  it('show their last use to the minute', async () => {
    const secret = await secretOf();
    const first = new Date(clock.now()).toISOString();
    await me(secret);
    clock.advance(59_999);
    await me(secret);
    expect(await list()).toMatchObject([{ last_used_at: first }]);

    clock.advance(1);
    await me(secret);
    expect(await list()).toMatchObject([{ last_used_at: new Date(clock.now()).toISOString() }]);
  });

  it('are at most 50, without expired ones', async () => {
    const most = limits.tokensPerAccount;
    const replies = await Promise.all(
      Array.from({ length: most + 1 }, () => create({ expires_in_days: 1 })),
    );
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(most);
    expect(replies.find(({ status }) => status === 409)?.body.error).toBe('token_limit_reached');

    clock.advance(DAY);
    expect((await create()).status).toBe(201);
  });

  it('count toward the limit of the account', async () => {
    const secret = await secretOf({ scope: 'write' });
    const count = async (by: object) =>
      Number(
        (
          await service.call('PATCH', `/api/v1/fleets/${crypto.randomUUID()}`, {
            ...by,
            body: { name: 'x' },
          })
        ).headers.get('x-ratelimit-remaining'),
      );

    const before = await count({ session: owner.session });
    expect(await count({ apiKey: secret })).toBe(before - 1);
  });
});
