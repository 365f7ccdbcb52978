// Where `svc-server dev` and `demo` find anvil when they are installed as users install them.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { type LocalRegistry, startLocalRegistry } from '../../support/local-registry.ts';
import { installPacked, packPackage } from '../../support/packed-package.ts';

const modules = path.resolve(import.meta.dirname, '../../../node_modules');
const anvil = `@foundry-rs/anvil@${packageJson.devDependencies['@foundry-rs/anvil']}`;
const platform = `@foundry-rs/anvil-${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
const exec = promisify(execFile);

let folder: string;
/** An empty working folder. */
let cwd: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-local-chain-'));
  await installPacked(path.join(folder, 'local'));
  // npm install -g puts packages there.
  await installPacked(path.join(folder, 'global/lib'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(async () => {
  cwd = await mkdtemp(path.join(folder, 'cwd-'));
});

const programIn = (installed: string) =>
  path.join(folder, installed, 'node_modules/robot-svc/bin/svc-server.js');

interface Place {
  /** A folder of programs before the ones of the system. */
  bin?: string;
  env?: NodeJS.ProcessEnv;
}

const placed = ({ bin = '', env }: Place) => ({
  cwd,
  env: { PATH: `${bin}:${path.dirname(process.execPath)}:/usr/bin:/bin`, HOME: folder, ...env },
});

async function fail(program: string, args: string[], place: Place = {}) {
  const failed = exec(process.execPath, [program, ...args], placed(place));
  return failed.then(
    () => expect.unreachable('it ran'),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

/** Runs `svc-server dev` until it is ready; its exit code. */
async function startAndStop(program: string, place: Place = {}): Promise<number | null> {
  const child = spawn(process.execPath, [program, 'dev', '--json', '--port', '0'], {
    ...placed(place),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  await Promise.race([once(createInterface(child.stdout), 'line'), ended]);
  child.kill('SIGTERM');
  await ended;
  return child.exitCode;
}

describe('svc-server dev', () => {
  it('starts the anvil of the package in the working folder', async () => {
    await mkdir(path.join(cwd, 'node_modules'));
    const own = path.join(cwd, 'node_modules/@foundry-rs');
    await symlink(path.join(modules, '@foundry-rs'), own);

    expect(await startAndStop(programIn('local'))).toBe(0);
    expect(await startAndStop(programIn('global/lib'))).toBe(0);
  });

  it('starts the anvil on PATH: the program, or the wrapper of the package', async () => {
    const [native, wrapper] = [path.join(cwd, 'native'), path.join(cwd, 'wrapper')];
    await Promise.all([mkdir(native), mkdir(wrapper)]);
    await copyFile(path.join(modules, platform, 'bin/anvil'), path.join(native, 'anvil'));
    await symlink(path.join(modules, '@foundry-rs/anvil/bin.mjs'), path.join(wrapper, 'anvil'));

    expect(await startAndStop(programIn('local'), { bin: native })).toBe(0);
    expect(await startAndStop(programIn('local'), { bin: wrapper })).toBe(0);
  });

  it.each([
    ['in a project', 'local', ''],
    ['globally', 'global/lib', '-g --prefix FOLDER/global '],
  ])('says how to get the chain if it was installed %s', async (_, installed, options) => {
    const { code, stderr } = await fail(programIn(installed), ['dev', '--port', '0']);

    const command = `npm install ${options.replace('FOLDER', folder)}${anvil}`;
    expect(code).toBe(1);
    expect(stderr).toBe(
      `svc-server: The local chain needs anvil, which was not found next to this package, in the working folder or on PATH.\nRun: ${command}\n`,
    );
  });
});

describe('svc-server demo', () => {
  it('says it as text', async () => {
    const { code, stdout, stderr } = await fail(programIn('local'), ['demo']);

    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toContain(`\nRun: npm install ${anvil}\n`);
    expect(stdout).not.toContain('{');
  });
});

describe('the advice of a global installation', () => {
  let registry: LocalRegistry;
  beforeAll(async () => {
    registry = await startLocalRegistry((await packPackage()).tarball);
  });
  afterAll(() => registry.close());

  it('makes svc-server dev run', { timeout: 600_000 }, async () => {
    const prefix = path.join(folder, 'prefix');
    const env = {
      ...registry.env,
      npm_config_cache: path.join(folder, 'cache'),
      npm_config_prefix: prefix,
      npm_config_update_notifier: 'false',
      npm_config_nodedir: path.resolve(process.execPath, '../..'),
    };
    const { name } = packageJson;
    const settings = ['--no-audit', '--no-fund'];
    await exec('npm', ['install', '-g', ...settings, name], placed({ env }));
    const program = path.join(prefix, 'bin/svc-server');
    const { stderr } = await fail(program, ['dev', '--port', '0'], { env });
    const [, words = ''] = /^Run: npm (.+)$/m.exec(stderr) ?? [];
    await exec('npm', [...words.split(' '), ...settings], placed({ env }));

    expect(words).toContain('install -g ');
    expect(await startAndStop(program, { env })).toBe(0);
  });
});
