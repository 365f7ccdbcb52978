import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestClock } from '../support/clock.ts';
import { type Owner, startTestService, type TestService } from '../support/service.ts';

/** RFC 7636, section 4: a verifier and its S256 challenge. */
function newPkce() {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: s256(verifier) };
}

function s256(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}

describe('handing a session to the command line', () => {
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

  const authorize = (body: unknown, origin: string | null = service.url, { session } = owner) =>
    service.call('POST', '/api/auth/cli/authorize', {
      session,
      body,
      ...(origin !== null && { headers: { origin } }),
    });
  const redeem = (body: unknown, headers: Record<string, string> = {}) =>
    service.call('POST', '/api/auth/cli/token', { body, headers });
  const use = (session: string) => service.call('GET', '/api/v1/me', { session });

  async function newCode() {
    const { verifier, challenge } = newPkce();
    const { body } = await authorize({ challenge });
    return { code: body.code as string, verifier };
  }

  it('opens a session of its own, which outlives the one that gave it', async () => {
    const { verifier, challenge } = newPkce();

    const made = await authorize({ challenge, challenge_method: 'S256' });
    const reply = await redeem({ code: made.body.code, verifier });

    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      code: expect.stringMatching(/^[\w-]{43}$/),
      expires_at: new Date(clock.now() + 60_000).toISOString(),
    });
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

  it('computes the challenge as RFC 7636, appendix B, does', async () => {
    const { body } = await authorize({ challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM' });

    const reply = await redeem({
      code: body.code,
      verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
    });

    expect(reply.status).toBe(200);
  });

  it('takes a code once, of many tries at once too', async () => {
    const attempt = await newCode();

    const replies = await Promise.all(Array.from({ length: 10 }, () => redeem(attempt)));

    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ body }) => body.error === 'invalid_code')).toHaveLength(9);
  });

  it('spends a code on the first wrong verifier', async () => {
    const { code, verifier } = await newCode();

    const wrong = await redeem({ code, verifier: newPkce().verifier });
    const right = await redeem({ code, verifier });

    expect([wrong.status, wrong.body.error]).toEqual([400, 'invalid_code']);
    expect(right.body.error).toBe('invalid_code');
  });

  it('takes a code until its 60 s are over, not a millisecond longer', async () => {
    const [last, late] = [await newCode(), await newCode()];

    clock.advance(59_999);
    const inTime = await redeem(last);
    clock.advance(1);
    const tooLate = await redeem(late);

    expect(inTime.status).toBe(200);
    expect(tooLate.body.error).toBe('invalid_code');
  });

  it('ends the code with the session that made it', async () => {
    const attempt = await newCode();
    await service.call('POST', '/api/auth/logout', { session: owner.session });

    expect((await redeem(attempt)).body.error).toBe('invalid_code');
  });

  it('takes no challenge for its own verifier (no plain method)', async () => {
    const { challenge } = newPkce();
    const { body } = await authorize({ challenge });

    expect((await redeem({ code: body.code, verifier: challenge })).body.error).toBe(
      'invalid_code',
    );
    const plain = await authorize({ challenge, challenge_method: 'plain' });
    expect([plain.status, plain.body.error]).toEqual([400, 'invalid_request']);
  });

  it.each([undefined, null, 7, '', 'x'.repeat(42), 'x'.repeat(44), `${'x'.repeat(42)}+`])(
    'refuses the challenge %j',
    async (challenge) => {
      const reply = await authorize({ challenge });

      expect(reply.status).toBe(400);
      expect(reply.body.error).toBe('invalid_request');
      expect(reply.body.message).toContain('challenge');
    },
  );

  it.each([
    [{ verifier: 'v'.repeat(43) }],
    [{ code: 'A'.repeat(43) }],
    [{ code: 'A'.repeat(43), verifier: 'v'.repeat(42) }],
    [{ code: 'A'.repeat(43), verifier: 'v'.repeat(129) }],
    [{ code: 'A'.repeat(43), verifier: `${'v'.repeat(43)}!` }],
    [{ code: 7, verifier: 'v'.repeat(43) }],
    [{ code: 'A'.repeat(43), verifier: 'v'.repeat(43) }],
  ])('refuses %j as invalid_code', async (body) => {
    const reply = await redeem(body);

    expect([reply.status, reply.body.error]).toEqual([400, 'invalid_code']);
  });

  it('makes no code for a session that a code opened, whose own work goes on', async () => {
    const { body } = await redeem(await newCode());
    const { challenge } = newPkce();

    const reply = await authorize({ challenge }, service.url, { ...owner, session: body.token });

    expect([reply.status, reply.body.error]).toEqual([403, 'wallet_session_required']);
    expect((await use(body.token)).status).toBe(200);
  });

  it('makes codes for sessions alone', async () => {
    const { challenge } = newPkce();
    const robot = await service.makeRobot(owner);
    const ask = (credential: object) =>
      service.call('POST', '/api/auth/cli/authorize', {
        body: { challenge },
        headers: { origin: service.url },
        ...credential,
      });

    expect((await ask({})).body.error).toBe('missing_session');
    expect((await ask({ apiKey: robot.apiKey })).body.error).toBe('missing_session');
    expect((await ask({ session: '0'.repeat(64) })).body.error).toBe('invalid_session');
  });

  it.each([null, 'null', '', 'https://evil.test', 'http://sub.127.0.0.1'])(
    'makes no code from Origin %j, whatever else is sent',
    async (origin) => {
      const { challenge } = newPkce();

      const reply = await authorize({ challenge }, origin);
      const withKey = await service.call('POST', '/api/auth/cli/authorize', {
        session: owner.session,
        apiKey: 'other',
        body: { challenge },
        ...(origin !== null && { headers: { origin } }),
      });

      expect([reply.status, reply.body.error]).toEqual([403, 'forbidden_origin']);
      expect(withKey.body.error).toBe('forbidden_origin');
    },
  );

  it('gives no token to a page of another site', async () => {
    const attempt = await newCode();

    const foreign = await redeem(attempt, { origin: 'https://evil.test' });

    expect(foreign.body.error).toBe('forbidden_origin');
    expect((await redeem(attempt)).status).toBe(200);
  });

  it('logs neither code nor verifier nor token', async () => {
    const attempt = await newCode();
    const { body } = await redeem(attempt);

    const log = service.logLines.join('\n');
    for (const secret of [attempt.code, attempt.verifier, body.token]) {
      expect(log).not.toContain(secret);
    }
  });
});
