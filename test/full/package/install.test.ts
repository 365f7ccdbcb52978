// Installs the package with npm, as users do: from the tarball and from a registry, on several versions of Node.js.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { anvilAccounts, startTestChain } from '../../support/anvil.ts';
import { type LocalRegistry, startLocalRegistry } from '../../support/local-registry.ts';
import {
  namesIn,
  type PackedPackage,
  packPackage,
  publishedManifest,
  shrinkwrapped,
} from '../../support/packed-package.ts';
import { emptyDatabase } from '../../support/shared-postgres.ts';
import { waitFor } from '../../support/wait-for.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const exec = promisify(execFile);
const { name, version } = packageJson;
/** Versions of the npm package `node`, which has the program for this platform. */
const otherNodes = ['22.23.3', '24.21.0'];

let folder: string;
let packed: PackedPackage;
let registry: LocalRegistry;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-install-'));
  packed = await packPackage();
  registry = await startLocalRegistry(packed.tarball);
});
afterAll(async () => {
  registry.close();
  await rm(folder, { recursive: true, force: true });
});

/** The folder of `node` in that version, from npm; null if the registry does not have it for this platform. */
async function nodeOf(wanted: string): Promise<string | null> {
  const project = path.join(folder, `node-${wanted}`);
  const program = `node-${process.platform}-${process.arch}`;
  await mkdir(project);
  await writeFile(path.join(project, 'package.json'), '{"private":true}');
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `${program}@${wanted}`];
  const installed = await exec('npm', args, { cwd: project }).catch(() => null);
  return installed && path.join(project, 'node_modules', program, 'bin');
}

/** Installs in a new project, with nothing of this run in its environment. */
async function install(
  bin: string,
  what: string,
  args: string[] = [],
  more: NodeJS.ProcessEnv = {},
) {
  const project = await mkdtemp(path.join(folder, 'project-'));
  // npm asks for approval of each install script.
  const allowScripts = { 'better-sqlite3': true };
  await writeFile(
    path.join(project, 'package.json'),
    JSON.stringify({ private: true, allowScripts }),
  );
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: process.env.HOME,
    npm_config_cache: path.join(folder, 'cache'),
    ...registry.env,
    npm_config_update_notifier: 'false',
    // Where no prebuilt binary can be downloaded, the headers of this version build better-sqlite3.
    npm_config_nodedir: path.dirname(bin),
    ...more,
  };
  const run = async (program: string, ...words: string[]) =>
    await exec(program, words, { cwd: project, env, maxBuffer: 2 ** 26 });
  const { stderr } = await run('npm', 'install', '--no-audit', '--no-fund', ...args, what);
  // npm does not know the settings of node-gyp and prebuild-install.
  const ofBuild = /^npm warn Unknown \w+ config "(nodedir|better.sqlite3.binary.host)".*\n/gm;
  const warnings = stderr.replace(ofBuild, '');
  return { project, warnings, run };
}

describe.each(['this', ...otherNodes])('on %s Node.js', (wanted) => {
  let bin: string | null;
  beforeAll(async () => {
    bin = wanted === 'this' ? path.dirname(process.execPath) : await nodeOf(wanted);
  });

  it('installs without a warning, with only the tested versions', {
    timeout: 600_000,
  }, async (context) => {
    if (bin === null) return context.skip(`NOT CHECKED: the registry has no Node.js ${wanted}`);
    const isThis = wanted === 'this';
    // For another version, npm compiles better-sqlite3 for minutes; `npm run test:matrix` does that.
    const args = isThis ? [] : ['--ignore-scripts'];
    for (const source of isThis ? [packed.tarball, name] : [name]) {
      const { project, warnings, run } = await install(bin, source, args);

      expect(warnings).toBe('');
      const lockfile = JSON.parse(await readFile(path.join(project, 'package-lock.json'), 'utf8'));
      const installed: Record<string, { version: string; hasInstallScript?: true }> =
        lockfile.packages;
      // From a file, npm ignores the shrinkwrap: only direct dependencies have the tested versions.
      const { dependencies, optionalDependencies } = await publishedManifest();
      const direct = Object.entries({ ...dependencies, ...optionalDependencies });
      expect(namesIn(installed)).toEqual(
        source === name
          ? [...(await shrinkwrapped()), `${name}@${version}`].sort()
          : expect.arrayContaining(direct.map((each) => each.join('@'))),
      );
      const withScript = Object.entries(installed).filter(([, each]) => each.hasInstallScript);
      expect(withScript.map(([place]) => place.split('/').at(-1))).toEqual(['better-sqlite3']);
      for (const program of ['svc', 'svc-agent', 'svc-server']) {
        const shown = await run(path.join('node_modules/.bin', program), '--version');
        expect(shown).toEqual({ stdout: `${version}\n`, stderr: '' });
      }
      expect((await run('node_modules/.bin/svc-server', 'config')).stderr).toBe('');
    }
  });

  it('runs svc without any install script', async (context) => {
    if (bin === null) return context.skip(`NOT CHECKED: the registry has no Node.js ${wanted}`);
    const { warnings, run } = await install(bin, name, ['--ignore-scripts']);
    const bundle = path.join(root, 'test/fixtures/bundle-2.json');
    const block = '0x92866e84109b537f3828f7e13e8e8fc6422591089c82eb2ec304e6a39dedb825';

    expect(warnings).toBe('');
    const sender = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266';
    const by = ['--block-hash', block, '--anchor-address', sender];
    const verified = await run('node_modules/.bin/svc', 'verify', bundle, ...by);
    expect(verified).toMatchObject({ stderr: '', stdout: expect.stringContaining('Verified:') });
  });
});

describe('without better-sqlite3', () => {
  const bin = path.dirname(process.execPath);
  const program = (command: string) => path.join('node_modules/.bin', command);
  const url = 'http://127.0.0.1:9';

  it.each([
    // No binary to download, and no compiler to make one: npm leaves an optional package out.
    [
      'not installed',
      [],
      { npm_config_better_sqlite3_binary_host: url, CC: '/bin/false', CXX: '/bin/false' },
      'The package better-sqlite3 is not installed.\nRun npm install better-sqlite3@',
    ],
    [
      'not compiled',
      ['--ignore-scripts'],
      {},
      'The native module better-sqlite3 is not compiled.\nRun npm rebuild better-sqlite3 ',
    ],
  ])(
    'because it is %s, svc runs, and the other programs say how to get it',
    async (_, args, more, says) => {
      const { run, project } = await install(bin, name, args, more);
      const state = path.join(project, 'state');
      const env = {
        SVC_AGENT_URL: url,
        SVC_AGENT_KEY: `svc_${'0'.repeat(40)}`,
        SVC_AGENT_STATE_DIR: state,
        SVC_DATA_DIR: state,
        SVC_CHAIN_RPC_URL: url,
        SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[0].privateKey,
        SVC_LOG_LEVEL: 'silent',
      };
      const failed = (name: string, command: string) =>
        exec(program(name), [command], {
          cwd: project,
          env: { PATH: process.env.PATH, ...env },
        }).then(
          () => expect.unreachable(`${name} ran`),
          (error) => error,
        );
      const [agent, server] = [
        await failed('svc-agent', 'run'),
        await failed('svc-server', 'start'),
      ];

      expect((await run(program('svc'), 'help', 'exit-codes')).stderr).toBe('');
      expect([agent.code, server.code]).toEqual([1, 2]);
      expect(agent.stderr).toContain(`svc-agent: ${says}`);
      expect(server.stderr).toContain(`svc-server: ${says}`);
    },
  );

  it('svc-server serves from PostgreSQL', async () => {
    const database = await emptyDatabase();
    const chain = await startTestChain();
    const { project } = await install(bin, name, ['--omit=optional']);
    const child = spawn(process.execPath, [program('svc-server'), 'start'], {
      cwd: project,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        SVC_PORT: '0',
        SVC_DATABASE_URL: database.url,
        SVC_CHAIN_RPC_URL: chain.url,
        SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[0].privateKey,
      },
    });
    const ended = once(child, 'close');
    let log = '';
    child.stderr.on('data', (chunk) => {
      log += chunk;
    });
    const url = await waitFor('the server', () =>
      /"url":"(http[^"]+)".*"listening"|"listening".*"url":"(http[^"]+)"/.exec(log),
    );

    const ready = await fetch(`${url[1] ?? url[2]}/healthz`);

    expect(await ready.json()).toEqual({ status: 'up' });
    child.kill('SIGTERM');
    await ended;
    await chain.close();
    await database.drop();
  });
});

it('contains the files that its pages name', () => {
  const names = packed.files.map((file) => file.path);

  expect(names).toEqual(
    expect.arrayContaining([
      '.env.example',
      'deploy/Containerfile',
      'deploy/alerts.yml',
      'deploy/compose.yaml',
      'deploy/grafana-dashboard.json',
      'deploy/nginx-main.conf',
      'deploy/nginx.conf',
      'dist/sbom.cdx.json',
    ]),
  );
});
