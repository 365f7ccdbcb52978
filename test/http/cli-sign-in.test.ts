import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestClock } from '../support/clock.ts';
import { type Owner, startTestService, type TestService } from '../support/service.ts';

const MINUTES = 60_000;

describe('signing the command line in', () => {
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

  const start = async (name = 'laptop') =>
    (await service.call('POST', '/api/auth/cli/device', { body: { name } })).body;
  const decide = (
    code: unknown,
    decision?: unknown,
    { session }: Pick<Owner, 'session'> = owner,
    origin: string | null = service.url,
  ) =>
    service.call('POST', '/api/auth/cli/authorize', {
      session,
      body: { user_code: code, ...(decision !== undefined && { decision }) },
      ...(origin !== null && { headers: { origin } }),
    });
  const redeem = (code: unknown, headers: Record<string, string> = {}) =>
    service.call('POST', '/api/auth/cli/token', { body: { device_code: code }, headers });
  const use = (session: string) => service.call('GET', '/api/v1/me', { session });

  async function allowed() {
    const codes = await start();
    await decide(codes.user_code, 'allow');
    return codes.device_code;
  }

  it('opens its own session, which outlives the one that allowed it', async () => {
    const codes = await start('robot-lab');

    expect(codes).toEqual({
      device_code: expect.stringMatching(/^[\w-]{43}$/),
      user_code: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/),
      expires_at: new Date(clock.now() + 10 * MINUTES).toISOString(),
      interval: 2,
    });
    const requested = new Date(clock.now()).toISOString();
    clock.advance(MINUTES);
    const shown = await decide(codes.user_code);
    expect([shown.status, shown.body]).toEqual([
      200,
      { name: 'robot-lab', requested_at: requested, expires_at: codes.expires_at },
    ]);
    expect((await redeem(codes.device_code)).body.error).toBe('authorization_pending');
    expect((await decide(codes.user_code, 'allow')).body).toEqual(shown.body);
    const reply = await redeem(codes.device_code);

    expect(reply.status).toBe(200);
    expect(reply.headers.getSetCookie()).toEqual([]);
    expect(reply.body).toEqual({
      token: expect.stringMatching(/^[0-9a-f]{64}$/),
      wallet: owner.wallet,
      expires_at: new Date(clock.now() + 30 * 86_400_000).toISOString(),
    });
    await service.call('POST', '/api/auth/logout', { session: owner.session });
    expect((await use(reply.body.token)).body.wallet).toBe(owner.wallet);
    expect((await use(owner.session)).body.error).toBe('invalid_session');
  });

  it('accepts a user code as people type it', async () => {
    const { user_code: code } = await start();
    const typed = code.toLowerCase().replace('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l');

    expect((await decide(` ${typed} `, 'allow')).status).toBe(200);
  });

  it('accepts a device code once, even with many concurrent tries', async () => {
    const code = await allowed();

    const replies = await Promise.all(Array.from({ length: 10 }, () => redeem(code)));

    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ body }) => body.error === 'invalid_code')).toHaveLength(9);
  });

  it('accepts a code for exactly 10 minutes', async () => {
    const [last, late] = [await allowed(), await allowed()];
    const undecided = await start();

    clock.advance(10 * MINUTES - 1);
    const inTime = await redeem(last);
    clock.advance(1);

    expect(inTime.status).toBe(200);
    expect((await redeem(late)).body.error).toBe('invalid_code');
    expect((await decide(undecided.user_code, 'allow')).body.error).toBe('invalid_code');
  });

  it('ends the sign-in when it is refused', async () => {
    const codes = await start();

    expect((await decide(codes.user_code, 'refuse')).status).toBe(200);

    const reply = await redeem(codes.device_code);
    expect([reply.status, reply.body.error]).toEqual([400, 'invalid_code']);
  });

  it('ends the code with the session that allowed it', async () => {
    const code = await allowed();
    await service.call('POST', '/api/auth/logout', { session: owner.session });

    expect((await redeem(code)).body.error).toBe('invalid_code');
  });

  it('opens no session while the account is suspended', async () => {
    const code = await allowed();
    const by = { actor: 'operator', actor_name: 'test', source: null, at: clock.now() } as const;
    await service.store.suspendAccount(owner.wallet, true, by, null);
    const refused = await redeem(code);
    await service.store.suspendAccount(owner.wallet, false, by, null);

    expect([refused.status, refused.body.error]).toEqual([403, 'account_suspended']);
    expect((await redeem(code)).status).toBe(200);
  });

  it('prevents guessing: after 10 wrong codes the wallet must sign in again', async () => {
    const codes = await start();
    const tries = [];
    for (let i = 0; i < 10; i += 1) tries.push(await decide(`0000-000${i}`, 'allow'));

    expect(tries.map(({ body }) => body.error)).toEqual(Array(10).fill('invalid_code'));
    const right = await decide(codes.user_code, 'allow');
    expect([right.status, right.body.error]).toEqual([403, 'wallet_session_required']);
    expect((await redeem(codes.device_code)).body.error).toBe('authorization_pending');
    expect((await use(owner.session)).status).toBe(200);
    const again = await service.signIn(owner.account);
    expect((await decide(codes.user_code, 'allow', again)).status).toBe(200);
  });

  it('binds a user code to its own terminal', async () => {
    const mine = await start();
    const theirs = await start();
    await decide(theirs.user_code, 'allow', await service.signIn());

    expect((await redeem(mine.device_code)).body.error).toBe('authorization_pending');
    expect((await redeem(theirs.device_code)).body.wallet).not.toBe(owner.wallet);
  });

  it.each([undefined, null, 7, '', 'A'.repeat(42), 'A'.repeat(44), 'ABCD-EFGH', 'A'.repeat(43)])(
    'refuses the device code %j as invalid_code',
    async (code) => {
      const reply = await redeem(code);

      expect([reply.status, reply.body.error]).toEqual([400, 'invalid_code']);
    },
  );

  it.each([undefined, null, 7, 'x'.repeat(33)])('refuses the user code %j', async (code) => {
    const reply = await decide(code);

    expect([reply.status, reply.body.error]).toEqual([400, 'invalid_request']);
    expect(reply.body.message).toContain('user_code');
  });

  it('refuses other decisions and long names', async () => {
    const { user_code } = await start();
    const named = await service.call('POST', '/api/auth/cli/device', {
      body: { name: 'x'.repeat(81) },
    });

    expect((await decide(user_code, 'maybe')).body.error).toBe('invalid_request');
    expect([named.status, named.body.error]).toEqual([400, 'invalid_request']);
  });

  it('does not let a session opened by a code allow another one', async () => {
    const { body } = await redeem(await allowed());
    const { user_code } = await start();

    const reply = await decide(user_code, 'allow', { session: body.token });

    expect([reply.status, reply.body.error]).toEqual([403, 'wallet_session_required']);
    expect((await use(body.token)).status).toBe(200);
  });

  it('lets only sessions decide', async () => {
    const { user_code } = await start();
    const robot = await service.makeRobot(owner);
    const ask = (credential: object) =>
      service.call('POST', '/api/auth/cli/authorize', {
        body: { user_code },
        headers: { origin: service.url },
        ...credential,
      });

    expect((await ask({})).body.error).toBe('missing_session');
    expect((await ask({ apiKey: robot.apiKey })).body.error).toBe('missing_session');
    expect((await ask({ session: '0'.repeat(64) })).body.error).toBe('invalid_session');
  });

  it.each([null, 'null', '', 'https://evil.test', 'http://sub.127.0.0.1'])(
    'refuses a decision from Origin %j, whatever else is sent',
    async (origin) => {
      const { user_code } = await start();

      const reply = await decide(user_code, 'allow', owner, origin);
      const withKey = await service.call('POST', '/api/auth/cli/authorize', {
        session: owner.session,
        apiKey: 'other',
        body: { user_code },
        ...(origin !== null && { headers: { origin } }),
      });

      expect([reply.status, reply.body.error]).toEqual([403, 'forbidden_origin']);
      expect(withKey.body.error).toBe('forbidden_origin');
    },
  );

  it('gives no token to a page of another site', async () => {
    const code = await allowed();

    const foreign = await redeem(code, { origin: 'https://evil.test' });

    expect(foreign.body.error).toBe('forbidden_origin');
    expect((await redeem(code)).status).toBe(200);
  });

  it('logs neither code nor token', async () => {
    const codes = await start();
    await decide(codes.user_code, 'allow');
    const { body } = await redeem(codes.device_code);

    const log = service.logLines.join('\n');
    for (const secret of [codes.device_code, codes.user_code, body.token]) {
      expect(log).not.toContain(secret);
    }
  });
});
