import { existsSync, utimesSync } from 'node:fs';
import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { encryptKeystoreJson } from 'ethers';
import { HttpResponse, http } from 'msw';
import { setupServer } from 'msw/node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';
import { createSvcUser, type SvcUser } from '../support/svc.ts';
import { waitFor } from '../support/wait-for.ts';

/** A service that is not ours. */
const RELAY = 'http://127.0.0.1:9';
const relay = setupServer();
beforeAll(() => relay.listen({ onUnhandledRequest: 'bypass' }));
afterEach(() => relay.resetHandlers());
afterAll(() => relay.close());

let service: TestService;
let user: SvcUser;

beforeAll(async () => {
  // A signature that is not the wallet's own may be that of a contract: the chain is asked.
  service = await startTestService({ chain: 'manual' });
});
afterAll(() => service.close());
beforeEach(async () => {
  user = await createSvcUser(service.url);
});
afterEach(() => user.remove());

const config = () => user.file('config/config.json');
const readConfig = async () => JSON.parse(await readFile(config(), 'utf8'));
const openSessions = async () => (await user.json('sessions', 'list')).items.length;
const profileName = () => new URL(service.url).host.replace(':', '_');

async function writeKeystore(password: string): Promise<string> {
  const { wallet: address, privateKey } = user;
  const file = user.file('keystore.json');
  const keystore = await encryptKeystoreJson({ address, privateKey }, password, {
    scrypt: { N: 1024 },
  });
  await writeFile(file, keystore, { mode: 0o600 });
  return file;
}

describe('svc login --key-file', () => {
  it('signs in with a hex key, and stores the session readable by its owner only', async () => {
    const { exitCode, stdout, stderr } = await user.svc([
      'login',
      service.url,
      '--key-file',
      user.keyFile,
    ]);

    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(
      new RegExp(`^wallet\t${user.wallet}\nservice\t${service.url}\nprofile\t`),
    );
    expect((await stat(config())).mode & 0o777).toBe(0o600);
    expect((await user.json('whoami')).wallet).toBe(user.wallet);
  });

  it('opens a V3 keystore with a password file', async () => {
    const keystore = await writeKeystore('pass word');
    await writeFile(user.file('password'), 'pass word\n', { mode: 0o600 });

    const args = ['--key-file', keystore, '--password-file', user.file('password')];
    const { exitCode, stdout } = await user.svc(['login', service.url, ...args]);

    expect([exitCode, stdout]).toEqual([0, expect.stringContaining(user.wallet)]);
  });

  it('names a keystore that does not open, and shows nothing of its content', async () => {
    const keystore = await writeKeystore('right');
    await writeFile(user.file('password'), 'wrongpassword', { mode: 0o600 });

    const args = ['--key-file', keystore, '--password-file', user.file('password')];
    const { exitCode, stdout, stderr } = await user.svc(['login', service.url, ...args]);

    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain(keystore);
    expect(stderr).not.toContain('wrongpassword');
  });

  it('refuses a key that others can read', async () => {
    await writeFile(user.file('open-key'), user.privateKey, { mode: 0o644 });

    const { exitCode, stderr } = await user.svc([
      'login',
      service.url,
      '--key-file',
      user.file('open-key'),
    ]);

    const file = user.file('open-key');
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining(`--key-file ${file} can be read by others (mode 644)`),
    ]);
    expect(stderr).toContain(`chmod 600 ${file}`);
  });

  it('refuses an invalid key without quoting it', async () => {
    await writeFile(user.file('bad'), `${user.privateKey}00`, { mode: 0o600 });

    const { exitCode, stderr } = await user.svc([
      'login',
      service.url,
      '--key-file',
      user.file('bad'),
    ]);

    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/^svc: The key in --key-file /)]);
    expect(stderr).not.toContain(user.privateKey.slice(2, 10));
  });

  it('refuses a missing file in the same way as a malformed one', async () => {
    const args = ['login', service.url, '--key-file', user.file('none')];

    expect(await user.svc(args)).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: `svc: Cannot read --key-file ${user.file('none')}: there is no such file.\n`,
    });
  });
});

describe('svc login --manual', () => {
  it('refuses the signature of another message', async () => {
    const signature = await user.account.signMessage({ message: 'something else' });

    const args = ['login', service.url, '--manual', '--address', user.wallet];
    const { exitCode, stdout, stderr } = await user.svc(args, { input: `${signature}\n` });

    expect(exitCode).toBe(1);
    expect(stdout).toContain(' wants you to sign in with your Ethereum account:\n');
    expect(stderr).toContain('matches no open challenge of this wallet');
  });
});

/** The end of a whole message. */
const rest = 'Chain ID: 1\nNonce: 0123456789abcdef\nIssued At: 2026-01-01T00:00:00Z';

describe('svc login', () => {
  it('signs no message that another service would accept', async () => {
    const foreign = `bank.example wants you to sign in with your Ethereum account:\n${user.wallet}\n\nHi\n\nURI: https://bank.example\nVersion: 1\n${rest}`;
    const asked: string[] = [];
    relay.use(
      http.post(`${RELAY}/*`, ({ request }) => {
        asked.push(new URL(request.url).pathname);
        return HttpResponse.json({ message: foreign });
      }),
    );

    const { exitCode, stderr } = await user.svc(['login', RELAY, '--key-file', user.keyFile]);

    expect(exitCode).toBe(1);
    expect(stderr).toContain('bank.example');
    expect(asked).toEqual(['/api/auth/challenge']);
  });

  it.each([
    ['http://svc.example.org', 'in the clear'],
    ['ftp://127.0.0.1', 'https'],
    ['https://user:secret@svc.example.org', 'origin alone'],
    ['https://svc.example.org/api', 'origin alone'],
    ['svc.example.org', 'not a URL'],
  ])('refuses %s before anything is sent', async (url, reason) => {
    const { exitCode, stderr } = await user.svc(['login', url, '--key-file', user.keyFile]);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(reason)]);
    expect(stderr).not.toContain('secret');
  });

  it('names the address of a local service that does not listen on localhost', async () => {
    const url = service.url.replace('127.0.0.1', 'localhost');
    const { exitCode, stderr } = await user.svc(['login', url, '--key-file', user.keyFile]);

    expect([exitCode, stderr]).toEqual([
      1,
      `svc: The sign-in message is not for ${url}.\nUse ${service.url}.\n`,
    ]);
  });

  it('signs no message that a terminal would partly hide', async () => {
    const own = new URL(RELAY).host;
    const message = `${own} wants you to sign in with your Ethereum account:\n${user.wallet}\n\n\u001b[8mI give all away\u001b[0m\n\nURI: http://${own}\nVersion: 1\n${rest}`;
    relay.use(http.post(`${RELAY}/*`, () => HttpResponse.json({ message })));

    const args = ['login', RELAY, '--manual', '--address', user.wallet];
    const { exitCode, stdout, stderr } = await user.svc(args);

    expect([exitCode, stdout]).toEqual([1, '']);
    expect(stderr).toContain('is not for');
  });

  it('uses http to another machine only with --insecure-http', async () => {
    // No loopback address by its name, and yet this machine.
    const url = `http://0.0.0.0:${new URL(service.url).port}`;

    const refused = await user.svc(['chain', '--url', url]);
    const allowed = await user.svc(['chain', '--url', url, '--insecure-http']);

    expect([refused.exitCode, refused.stderr]).toEqual([
      2,
      expect.stringContaining('in the clear'),
    ]);
    expect([allowed.exitCode, allowed.stderr]).toEqual([0, '']);
    expect(allowed.stdout).toContain('chain_id\t31337\n');
  });

  it.each([
    ['127.0.0.1:3000', 'http://127.0.0.1:3000'],
    ['localhost:3000', 'http://localhost:3000'],
    ['svc.example.org', 'https://svc.example.org'],
  ])('reports what %s lacks', async (typed, meant) => {
    const { exitCode, stderr } = await user.svc(['login', typed]);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`Did you mean ${meant}?`)]);
  });

  it('follows no redirect', async () => {
    const location = `${service.url}/api/auth/challenge`;
    relay.use(http.post(`${RELAY}/*`, () => HttpResponse.redirect(location, 307)));

    const { exitCode, stderr } = await user.svc(['login', RELAY, '--key-file', user.keyFile]);

    expect([exitCode, stderr]).toEqual([7, expect.stringContaining('does not follow')]);
  });

  it('does not prompt with --no-input', async () => {
    for (const way of [[], ['--manual'], ['--no-browser']]) {
      const { exitCode, stderr } = await user.svc(['login', service.url, '--no-input', ...way]);

      expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--key-file')]);
    }
  });

  it('requires --address in a script before it requests a code', async () => {
    const { exitCode, stderr } = await user.svc(['login', service.url]);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--address')]);
    expect((await user.svc(['login', service.url, '--address', '0x12'])).exitCode).toBe(2);
  });

  it('saves only the wallet that --address names, whichever way it signs', async () => {
    const other = `0x${'12'.repeat(20)}`;
    const args = ['login', service.url, '--key-file', user.keyFile, '--address', other];

    const { exitCode, stderr } = await user.svc(args);

    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('nothing was saved')]);
    expect((await user.json('config', 'list')).items).toEqual([]);
  });

  it('reports that nothing answers, and why', async () => {
    const named = ['--address', user.wallet];
    for (const way of [['--key-file', user.keyFile], ['--no-browser', ...named], named]) {
      const { exitCode, stderr } = await user.svc(['login', 'http://127.0.0.1:9', ...way]);

      expect([exitCode, stderr]).toEqual([
        7,
        expect.stringMatching(/^svc: No answer from .*\nCheck the address and the network\.\n$/),
      ]);
    }
  });
});

describe('a session', () => {
  it.each([
    [['robots', 'list'], true],
    [['tasks', 'watch', '01a1fa88'], true],
    [['sessions', 'list'], false],
    [['account', 'export'], false],
  ])('that is missing: %j offers a token: %s', async (command, offered) => {
    const { exitCode, stderr } = await user.svc([...command, '--url', service.url]);

    expect(exitCode).toBe(4);
    expect(stderr).toContain('Sign in with: svc login');
    expect(stderr.includes('Or set SVC_TOKEN to an account token.')).toBe(offered);
  });

  it('that is missing is reported with the command that opens one', async () => {
    const { exitCode, stderr } = await user.svc(['robots', 'list', '--url', service.url]);

    expect(exitCode).toBe(4);
    expect(stderr).toContain(`Sign in with: svc login ${service.url}\n`);
  });

  it('that has expired by the clock is not sent', async () => {
    await user.signIn();
    const kept = await readConfig();
    kept.profiles[profileName()].expires_at = '2020-01-01T00:00:00.000Z';
    await writeFile(config(), JSON.stringify(kept));

    const { exitCode, stderr } = await user.svc(['robots', 'list']);

    expect(exitCode).toBe(4);
    expect(stderr).toContain('has expired');
    expect(stderr).toContain(`svc login ${service.url} --profile ${profileName()}\n`);
  });

  it('that the service has ended is reported with the same command', async () => {
    await user.signIn();
    const { session } = (await readConfig()).profiles[profileName()];
    await service.call('POST', '/api/auth/logout', { session });

    const { exitCode, stderr } = await user.svc(['whoami']);

    expect(exitCode).toBe(4);
    expect(stderr).toContain(`svc login ${service.url} --profile ${profileName()}\n`);
  });

  it('ends at the service with logout, and is deleted here', async () => {
    await user.signIn();
    const { session } = (await readConfig()).profiles[profileName()];

    const { exitCode } = await user.svc(['logout']);

    expect(exitCode).toBe(0);
    expect((await readConfig()).profiles[profileName()].session).toBeNull();
    expect((await service.call('GET', '/api/v1/me', { session })).status).toBe(401);
  });

  it('is sent only to the service that issued it', async () => {
    await user.signIn();

    const elsewhere = ['--url', 'http://127.0.0.1:9'];
    const plain = await user.svc(['whoami', ...elsewhere]);
    const named = await user.svc(['whoami', '--profile', profileName(), ...elsewhere]);

    expect([plain.exitCode, plain.stderr]).toEqual([4, expect.stringContaining('is missing')]);
    expect([named.exitCode, named.stderr]).toEqual([2, expect.stringContaining(service.url)]);
  });
});

describe('profiles', () => {
  it('are separate for each service and wallet', async () => {
    const other = await createSvcUser(service.url);
    await user.signIn();
    await user.signIn();

    await user.svc(['login', service.url, '--key-file', other.keyFile]);

    const { items } = await user.json('config', 'list');
    const second = `${profileName()}_${other.wallet.slice(2, 10).toLowerCase()}`;
    expect(items).toMatchObject([
      { name: profileName(), wallet: user.wallet, current: false },
      { name: second, wallet: other.wallet, current: true },
    ]);
    expect((await user.json('whoami', '--profile', profileName())).wallet).toBe(user.wallet);
    await user.svc(['config', 'use', profileName()]);
    expect((await user.json('whoami')).wallet).toBe(user.wallet);
    const env = { SVC_PROFILE: second };
    expect((await user.svc(['whoami'], { env })).stdout).toContain(other.wallet);
    await other.remove();
  });

  it('wait for another program that is writing them', async () => {
    await user.signIn();
    const lock = `${config()}.lock`;
    await writeFile(lock, '');
    const held = setInterval(() => utimesSync(lock, new Date(), new Date()), 100);

    const login = user.signIn('--profile', 'late');
    await waitFor('the session', async () => (await openSessions()) === 2);
    const before = Object.keys((await readConfig()).profiles);
    clearInterval(held);
    await rm(lock);
    await login;

    expect(before).toEqual([profileName()]);
    expect(Object.keys((await readConfig()).profiles)).toEqual([profileName(), 'late']);
  });

  it('do not wait for a program that was killed while it wrote', async () => {
    await user.signIn();
    const lock = `${config()}.lock`;
    await writeFile(lock, '');
    await utimes(lock, 1, 1);

    const { exitCode } = await user.svc(['config', 'use', profileName()]);

    expect(exitCode).toBe(0);
    expect(existsSync(lock)).toBe(false);
  });

  it.each(['', '{', 'null', '[]', '{"profiles":{"a":{"url":1}}}', '{"current":7}'])(
    'that were damaged to %j are set aside, which is reported',
    async (damage) => {
      await user.signIn();
      await writeFile(config(), damage);

      const { exitCode, stderr } = await user.svc(['config', 'list']);

      expect(exitCode).toBe(0);
      const [, aside = ''] = /set aside as (\S+);/.exec(stderr) ?? [];
      expect(path.dirname(aside)).toBe(path.dirname(config()));
      expect(await readFile(aside, 'utf8')).toBe(damage);
      expect((await user.svc(['whoami', '--url', service.url])).exitCode).toBe(4);
    },
  );

  it('become private again if other users could read them', async () => {
    await user.signIn();
    const { chmod } = await import('node:fs/promises');
    await chmod(config(), 0o644);

    await user.svc(['config', 'list']);

    expect((await stat(config())).mode & 0o777).toBe(0o600);
  });

  it('never show their session', async () => {
    await user.signIn();
    const { session } = (await readConfig()).profiles[profileName()];

    for (const args of [['config', 'list'], ['config', 'list', '--json'], ['whoami'], ['doctor']]) {
      const { stdout, stderr } = await user.svc(args);
      expect(stdout + stderr).not.toContain(session);
    }
    expect(service.logLines.join('\n')).not.toContain(session);
  });
});
