import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readGuide } from '../../support/guide-page.ts';
import { runGuide } from '../../support/guide-run.ts';
import { packPackage, publishedManifest } from '../../support/packed-package.ts';
import { needsProgram } from '../../support/require-program.ts';
import { type Bindings, isShown, tidy } from '../../support/shown-output.ts';

const folder = path.resolve(import.meta.dirname, '../../../docs/guides');
const pages = ['admin.md', 'auditor.md', 'operator.md', 'robot-developer.md'];

/** Compiling a native module, and blocks of a chain, take their time; this ends what hangs. */
const LONG = { timeout: 900_000 };

/** Where the packed package is installed, once for all: the registry's part in `npm install robot-svc`. */
let installed: string;

beforeAll(async () => {
  installed = await mkdtemp(path.join(tmpdir(), 'svc-installed-'));
  const { tarball } = await packPackage();
  const { peerDependencies } = await publishedManifest();
  const manifest = { private: true, allowScripts: { 'better-sqlite3': true } };
  await writeFile(path.join(installed, 'package.json'), JSON.stringify(manifest));
  const anvil = `@foundry-rs/anvil@${peerDependencies['@foundry-rs/anvil']}`;
  // What this tree asks of npm is not asked of its users.
  const { npm_config_engine_strict: _, ...env } = process.env;
  const args = ['install', '--no-audit', '--no-fund', '--prefer-offline', tarball, anvil];
  await promisify(execFile)('npm', args, { cwd: installed, env });
}, LONG.timeout);

afterAll(() => rm(installed, { recursive: true, force: true }));

const read = async (page: string) => readGuide(await readFile(path.join(folder, page), 'utf8'));

it.for(pages)(
  'docs/guides/%s works from an empty folder as it says and shows',
  LONG,
  async (page, context) => {
    needsProgram(context, 'curl');
    const bindings: Bindings = new Map();

    const seen: Parameters<typeof runGuide>[2] = ({ shown, line }, output) => {
      const isJson = shown?.isJson ?? false;
      const [expected = '', actual = ''] = [shown?.text ?? '', output].map((text) =>
        isJson ? text.replace(/\s+/g, '') : tidy(text),
      );
      if (isShown(expected, actual, bindings)) return;
      expect(actual, `what docs/guides/${page}:${line} shows`).toBe(expected);
      throw new Error(`docs/guides/${page}:${line} shows ids that are not those of before`);
    };
    await runGuide(await read(page), installed, seen);
  },
);

it('cover all of docs/guides, and skip only blocks that need another machine', async () => {
  const steps = await Promise.all(pages.map(read));
  const left = steps.flat().flatMap((step) => (step.kind === 'not run' ? [step.reason] : []));

  expect((await readdir(folder)).sort()).toEqual(pages);
  expect(left).toEqual([
    'needs a robot with ssh, with the agent as a systemd service',
    'needs root and systemd',
    'needs root and systemd',
  ]);
});
