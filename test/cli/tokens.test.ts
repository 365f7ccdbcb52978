import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';
import { createSvcUser, type SvcUser } from '../support/svc.ts';

let service: TestService;
let user: SvcUser;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());
beforeEach(async () => {
  user = await createSvcUser(service.url);
  await user.signIn();
});
afterEach(() => user.remove());

const create = async (...more: string[]): Promise<string> =>
  (await user.svc(['tokens', 'create', 'ci', '--allow-duplicate', ...more])).stdout.trim();
const withToken = (SVC_TOKEN: string, ...args: string[]) =>
  user.svc(args, { env: { SVC_TOKEN, SVC_URL: service.url, SVC_CONFIG_DIR: user.file('none') } });

describe('svc tokens', () => {
  it('create prints only the token when piped, and its expiry on stderr', async () => {
    const args = ['tokens', 'create', 'ci', '--scope', 'write', '--days', '30'];
    const { exitCode, stdout, stderr } = await user.svc(args);

    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^svct_[0-9a-f]{40}\n$/)]);
    expect(stderr).toContain('shown only once');
    expect(stderr).not.toContain(stdout.trim());
    const [token] = (await user.json('tokens', 'list')).items;
    expect(token).toMatchObject({ name: 'ci', scope: 'write', last_used_at: null });
    expect(Date.parse(token.expires_at) - Date.parse(token.created_at)).toBe(30 * 86_400_000);
  });

  it.each([
    ['--scope', 'admin'],
    ['--days', '366'],
    ['--days', '0'],
  ])('create refuses %s %s as a usage error', async (...option) => {
    const { exitCode, stdout } = await user.svc(['tokens', 'create', 'ci', ...option]);

    expect([exitCode, stdout]).toEqual([2, '']);
    expect((await user.json('tokens', 'list')).items).toEqual([]);
  });

  it('revoke ends the token with the given name or id', async () => {
    const token = await create();

    expect((await user.svc(['tokens', 'revoke', 'other'])).exitCode).toBe(5);
    expect((await user.svc(['tokens', 'revoke', 'ci', '--yes'])).exitCode).toBe(0);

    const { exitCode, stderr } = await withToken(token, 'whoami');
    expect([exitCode, stderr]).toEqual([4, expect.stringContaining('unset it')]);
    expect(stderr).not.toContain(token);
  });
});

describe('SVC_TOKEN', () => {
  it('replaces the session, without any profile', async () => {
    const token = await create();

    const { exitCode, stdout } = await withToken(token, 'whoami', '--json');

    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      wallet: user.wallet,
      profile: null,
      expires_at: null,
    });
    expect((await withToken(token, 'whoami')).stdout).toContain('SVC_TOKEN');
    expect((await withToken(token, 'doctor')).stdout).toContain('SVC_TOKEN');
  });

  it('takes precedence over the session of the profile', async () => {
    const other = await createSvcUser(service.url);
    await other.signIn();
    const token = await create();

    const { stdout } = await other.svc(['whoami', '--json'], { env: { SVC_TOKEN: token } });

    expect(JSON.parse(stdout).wallet).toBe(user.wallet);
    await other.remove();
  });

  it.each([['export'], ['delete', '--yes']])('cannot %s the account', async (...command) => {
    const token = await create('--scope', 'write');

    const { exitCode, stdout, stderr } = await withToken(token, 'account', ...command);

    expect([exitCode, stdout]).toEqual([10, '']);
    expect(stderr).toContain(`An account token cannot ${command[0]} the account.`);
    expect((await user.svc(['whoami'])).stdout).toContain(user.wallet);
  });

  it('makes changes only with the scope write', async () => {
    const [read, write] = [await create(), await create('--scope', 'write')];

    const refused = await withToken(read, 'fleets', 'create', 'Hall');
    expect([refused.exitCode, refused.stderr]).toEqual([
      10,
      expect.stringContaining('scope write'),
    ]);
    expect((await withToken(write, 'fleets', 'create', 'Hall')).exitCode).toBe(0);
  });

  it('makes no changes to a suspended account, with the exit code of a missing permission', async () => {
    const token = await create('--scope', 'write');
    const by = { actor: 'operator', actor_name: null, source: null, at: Date.now() } as const;
    await service.store.suspendAccount(user.wallet, true, by, null);

    const byToken = await withToken(token, 'fleets', 'create', 'Hall');
    const bySession = await user.svc(['fleets', 'create', 'Hall']);

    expect([byToken.exitCode, bySession.exitCode]).toEqual([10, 10]);
    expect(bySession.stderr).toContain('suspended');
  });

  it('makes no changes if nothing listens at the port, and svc reports so', async () => {
    const token = await create('--scope', 'write');

    const args = ['fleets', 'create', 'Hall', '--allow-duplicate', '--url', 'http://127.0.0.1:9'];
    const { exitCode, stderr } = await withToken(token, ...args);

    expect([exitCode, stderr]).toEqual([
      7,
      'svc: No answer from http://127.0.0.1:9. (ECONNREFUSED)\nCheck the address and the network.\n',
    ]);
  });

  it('creates no token, and svc names the remedy', async () => {
    const token = await create('--scope', 'write');

    const { exitCode, stdout, stderr } = await withToken(token, 'tokens', 'create', 'more');

    expect([exitCode, stdout]).toEqual([10, '']);
    expect(stderr).toBe(
      'svc: An account token cannot do this. Sign in with the wallet.\nUnset SVC_TOKEN to use your session.\n',
    );
  });

  it.each([['login', '--key-file', 'key'], ['logout']])(
    'stays in use after svc %s, which prints a warning',
    async (...args) => {
      const words = args.map((word) => (word === 'key' ? user.keyFile : word));
      const env = { SVC_TOKEN: await create() };

      const { exitCode, stderr } = await user.svc(words, { env });

      const warning = '! SVC_TOKEN is set: svc uses this account token, no session.';
      expect([exitCode, stderr]).toEqual([0, expect.stringContaining(warning)]);
    },
  );

  it('that is malformed is a usage error, and is not printed', async () => {
    const { exitCode, stdout, stderr } = await withToken('svct_secret\n', 'whoami');

    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain('SVC_TOKEN is not an account token');
    expect(stderr).not.toContain('svct_secret');
  });
});

describe('svc audit', () => {
  it('lists actors and actions, in pages', async () => {
    await user.svc(['robots', 'create', 'arm']);
    await create();

    const { stdout } = await user.svc(['audit']);
    const kinds = stdout.split('\n').map((line) => line.split('\t')[1]);
    expect(kinds).toEqual(['token_created', 'robot_created', 'sign_in', undefined]);

    const first = await user.json('audit', '--limit', '1');
    const rest = await user.json('audit', '--cursor', first.next_cursor);
    expect(rest.items.map(({ kind }: { kind: string }) => kind)).toEqual([
      'robot_created',
      'sign_in',
    ]);
  });

  it('--jsonl prints every entry, one JSON object per line', async () => {
    for (let i = 0; i < 51; i += 1) await user.svc(['robots', 'create', `arm ${i}`]);

    const { exitCode, stdout } = await user.svc(['audit', '--jsonl']);

    const entries = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect([exitCode, entries.length]).toEqual([0, 52]);
    expect(entries.at(-1)).toMatchObject({ kind: 'sign_in', actor: 'session', count: 1 });
  });
});
