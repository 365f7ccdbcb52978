import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { encryptKeystoreJson } from 'ethers';
import { setupServer } from 'msw/node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { programFile } from '../../support/programs.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { createSvcUser, type SvcUser } from '../../support/svc.ts';

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
  it('asks for the password of a keystore without showing it, however soon it is typed', async () => {
    const keystore = await writeKeystore('pass word');
    const observer = new URL('../../support/prompt-echo.js', import.meta.url);

    const { exitCode, screen } = await user.inTerminal(
      ['login', service.url, '--key-file', keystore],
      {
        env: { NODE_OPTIONS: `--import ${observer.href}` },
        typed: [[`Password of ${keystore}: `, 'pass word\r']],
      },
    );

    expect([exitCode, screen]).toEqual([0, expect.stringContaining(user.wallet)]);
    expect(screen).toContain(`Password of ${keystore}: (echo off)`);
    expect(screen).not.toContain('pass word');
  });

  it('reads key and password from pipes', async () => {
    const keystore = await writeKeystore('pass word');
    const script =
      '"$0" "$1" login "$2" --key-file <(cat "$3") --password-file <(echo "pass word") &&' +
      ' "$0" "$1" login "$2" --key-file /dev/stdin < <(cat "$4")';
    const { env, keyFile } = user;
    const args = ['-c', script, process.execPath, programFile('svc'), service.url];

    const { stdout, stderr } = await promisify(execFile)('bash', [...args, keystore, keyFile], {
      env: { PATH: process.env.PATH, ...env },
    });

    expect([stdout.match(/^wallet\t/gm)?.length, stderr]).toEqual([2, '']);
  });
});

describe('svc login --manual', () => {
  it('prints the message, alone on stdout, and takes its signature', async () => {
    const args = ['login', service.url, '--manual', '--address', user.wallet];
    const sign = async (screen: string) => {
      const text = screen.replaceAll('\r\n', '\n');
      const start = text.indexOf(new URL(service.url).host);
      const message = text.slice(start, text.lastIndexOf('\n\n', text.indexOf('Signature')));
      return `${await user.account.signMessage({ message: message.trimEnd() })}\r`;
    };

    const { exitCode, screen } = await user.inTerminal(args, {
      columns: 200,
      typed: [['Signature (0x…): ', sign]],
    });

    expect(exitCode).toBe(0);
    expect(screen.slice(screen.indexOf('Signature'))).toContain(user.wallet);
  });
});

describe('profiles', () => {
  it('of logins at the same moment are all kept', async () => {
    const names = ['a', 'b', 'c', 'd'];

    const login = ['login', service.url, '--key-file', user.keyFile];
    await Promise.all(names.map((name) => user.spawnSvc([...login, '--profile', name])));

    const kept = Object.keys((await readConfig()).profiles);
    expect(kept.sort()).toEqual(names);
  });
});
