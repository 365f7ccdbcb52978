import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unitText } from '../../src/base/install/systemd-unit.ts';
import { operatorEnvironment, serverInstallation } from '../../src/server/commands/start.ts';
import { environment } from '../../src/server/environment.ts';
import { runInProcess } from '../support/run-in-process.ts';

let folder: string;
/** A path that cannot be a folder, even for root. */
let blocked: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-commands-'));
  await writeFile(path.join(folder, 'file'), 'a file');
  blocked = path.join(folder, 'file', 'data');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const server = (args: readonly string[], env: Record<string, string> = {}) =>
  runInProcess('svc-server', args, { env });

/** The words before each command and group, as `--help` lists them. */
async function commandsBelow(words: readonly string[]): Promise<string[][]> {
  const { exitCode, stdout } = await server([...words, '--help']);
  expect([words, exitCode, stdout]).toEqual([words, 0, expect.stringContaining('Usage: ')]);
  const [, listed = ''] = stdout.split('\nCommands:\n');
  const [block = ''] = listed.split('\n\n');
  const names = [...block.matchAll(/^ {2}(\S+)/gm)].flatMap(([, name = '']) => name);
  const found = [];
  for (const name of names) {
    if (name !== 'help') found.push([...words, name], ...(await commandsBelow([...words, name])));
  }
  return found;
}

describe('next to an installed server', () => {
  let root: string;
  beforeAll(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'svc-root-'));
    await mkdir(path.join(root, 'etc/systemd/system'), { recursive: true });
    await mkdir(path.join(root, 'etc/svc-server'));
    const unit = unitText({
      ...serverInstallation,
      command: ['/usr/bin/node', '/usr/lib/svc-server.js', 'start'],
      user: 'svc-server',
      inHome: false,
    });
    await writeFile(path.join(root, 'etc/systemd/system/svc-server.service'), unit);
    const variables =
      'SVC_CHAIN_RPC_URL=https://rpc.example.org\nSVC_DATABASE_URL=postgres:///svc\n';
    await writeFile(path.join(root, 'etc/svc-server/environment'), variables, { mode: 0o600 });
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  it('works with the environment of its unit', async () => {
    expect(await operatorEnvironment({ PATH: '/bin' }, root)).toEqual({
      PATH: '/bin',
      SVC_ANCHOR_KEY_FILE: path.join(root, 'etc/svc-server/anchor-key'),
      SVC_CHAIN_RPC_URL: 'https://rpc.example.org',
      SVC_DATA_DIR: '/var/lib/svc-server',
      SVC_DATABASE_URL: 'postgres:///svc',
    });
  });

  it('reads the credentials of its unit from their source while it is stopped', async () => {
    const file = path.join(root, 'etc/svc-server/environment');
    const before = await readFile(file, 'utf8');
    const copies = '/run/credentials/svc-server.service';
    const text = `SVC_ANCHOR_KEY_FILE=${copies}/anchor-key,${copies}/anchor-key-next\n`;
    await writeFile(file, before + text);
    const { SVC_ANCHOR_KEY_FILE } = await operatorEnvironment({}, root);
    await writeFile(file, before);

    const folder = path.join(root, 'etc/svc-server');
    expect(SVC_ANCHOR_KEY_FILE).toBe(`${folder}/anchor-key,${folder}/anchor-key-next`);
  });

  it('passes every secret file that a variable can name to its service', () => {
    const files = Object.keys(environment.properties).filter((name) => name.endsWith('_FILE'));
    const { credential, otherCredentials } = serverInstallation;
    const named = [credential, ...otherCredentials].map(
      (one) => `SVC_${one.toUpperCase().replaceAll('-', '_')}_FILE`,
    );
    expect(files.filter((name) => !named.includes(name))).toEqual([]);
  });

  it('uses the database that the caller names', async () => {
    const own = { SVC_DATA_DIR: '/srv/other' };

    expect(await operatorEnvironment(own, root)).toEqual(own);
  });
});

describe('svc-server', () => {
  it('prints the help of every command', async () => {
    const commands = await commandsBelow([]);

    expect(commands).toContainEqual(['credits', 'grant']);
    expect(commands).toContainEqual(['reconcile']);
  });

  it.each(['SVC_WEBHOOK_KEY_FILE', 'SVC_OPERATOR_TOKEN_FILE', 'SVC_ANCHOR_KEY_FILE'])(
    'exits with 2, so that systemd does not restart it, if %s cannot be read',
    async (name) => {
      const { exitCode, stderr } = await server(['start'], {
        SVC_CHAIN_RPC_URL: 'http://127.0.0.1:9',
        SVC_DATA_DIR: path.join(folder, 'data'),
        SVC_LOG_LEVEL: 'error',
        SVC_OPERATOR_LISTEN: '127.0.0.1:1',
        SVC_OPERATOR_TOKEN_FILE: path.join(folder, 'absent'),
        SVC_ANCHOR_PRIVATE_KEY: name === 'SVC_ANCHOR_KEY_FILE' ? '' : '11'.repeat(32),
        [name]: path.join(folder, 'absent'),
      });

      expect([exitCode, stderr]).toEqual([2, expect.stringContaining('absent')]);
    },
  );

  it.each([
    ['its data folder is a file', { SVC_DATA_DIR: 'file' }, 'Cannot use the folder'],
    ['its data folder is in a file', { SVC_DATA_DIR: 'file/data' }, 'Cannot use the folder'],
    ['a key is configured twice', { SVC_ANCHOR_KEY_FILE: 'key,key-again' }, 'configured twice'],
  ])('start exits with 2 if %s', async (_, given, reason) => {
    const key = path.join(folder, 'key');
    for (const file of [key, `${key}-again`]) {
      await writeFile(file, '11'.repeat(32), { mode: 0o600 });
    }
    const paths = Object.entries(given).map(([name, list]) => [
      name,
      list.replaceAll(/[^,]+/g, (file) => path.join(folder, file)),
    ]);

    const { exitCode, stderr } = await server(['start'], {
      SVC_CHAIN_RPC_URL: 'http://127.0.0.1:9',
      SVC_DATA_DIR: path.join(folder, 'data'),
      SVC_ANCHOR_KEY_FILE: key,
      SVC_LOG_LEVEL: 'error',
      ...Object.fromEntries(paths),
    });

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(reason)]);
  });

  it.each(['', '1,5', '0x1', '1e3', '-1', '0.0000000000000000001'])(
    'refuses %j as an amount in ETH',
    async (given) => {
      const wallet = `0x${'12'.repeat(20)}`;
      const args = ['credits', 'grant', wallet, `--gas-eth=${given}`, '--note', 'n'];
      const { exitCode, stderr } = await server(args, { SVC_DATA_DIR: path.join(folder, 'gas') });

      expect([exitCode, stderr]).toEqual([2, expect.stringContaining('number of ETH')]);
    },
  );

  it('completes commands and options in a shell', async () => {
    const script = await server(['completion', 'bash']);
    const commands = await server(['__complete', 'credits', 'g']);
    const options = await server(['__complete', 'credits', 'grant', '--gas']);

    expect(script.stdout).toContain('svc-server __complete');
    expect(commands.stdout).toMatch(/^grant\t.+\n$/);
    expect(options.stdout).toMatch(/^--gas-wei\t.+\n--gas-eth\t.+\n$/);
  });

  it('prints wrong usage as one JSON object with --json', async () => {
    const { exitCode, stderr } = await server(['check', '--json', '--nope']);

    expect(exitCode).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ error: 'usage' });
  });

  it('removes control characters from an unknown command', async () => {
    const { exitCode, stderr } = await server(['\u001b[31mstrat']);

    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^svc-server: Unknown command .*strat.*\.\n/);
    expect(stderr).not.toContain('\u001b');
  });

  it.each([
    ['an address', ['credits', 'show', '0x12']],
    ['a hash', ['reconcile', '--accept-anchor', '0x12']],
    ['a file of hashes', ['reconcile', '--accept-anchors-in', import.meta.filename]],
    ['a key file', ['reconcile']],
  ])('exits with 2 for bad input: %s', async (_, args) => {
    const env = { SVC_CHAIN_RPC_URL: 'http://127.0.0.1:9', SVC_ANCHOR_KEY_FILE: blocked };

    const { exitCode, stderr } = await server(args, env);

    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/^svc-server: .*\.\n/)]);
  });

  it.each([
    ['dev', () => ['dev', '--data-dir', blocked]],
    ['backup', () => ['backup', path.join(blocked, 'copy.db')]],
    ['restore', () => ['restore', path.join(folder, 'file')]],
    ['check', () => ['check']],
  ])('%s reports an unusable file, without a stack', async (_, args) => {
    const { exitCode, stderr } = await server(args(), { SVC_DATA_DIR: blocked });

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^svc-server: \S.*\.\n\S.*\.\n$/m);
    expect(stderr).not.toContain('    at ');
  });

  it.runIf(existsSync('/proc/self'))('exits if it cannot create its data folder', async () => {
    const args = ['dev', '--data-dir', '/proc/svc/data'];

    const { exitCode, stderr } = await server(args, { SVC_PORT: '4000' });

    expect(exitCode).toBe(1);
    expect(stderr).toContain('dev ignores SVC_PORT; use --port.\n');
    expect(stderr).toContain('Cannot create the folder /proc/svc: ');
  });
});
