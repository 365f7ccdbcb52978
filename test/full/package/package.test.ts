import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installPacked, type PackedPackage, packPackage } from '../../support/packed-package.ts';

const root = path.resolve(import.meta.dirname, '../../..');

/** What may be in it: the programs, the library with its types, the dashboard, and what people read. */
const shapes = [
  /^((package|npm-shrinkwrap)\.json|\.env\.example|LICENSE|(README|CHANGELOG|CONTRIBUTING|SECURITY)\.md)$/,
  /^clients\/python\/([\w-]+\.(md|py|toml)|MANIFEST\.in|LICENSE|src\/robot_svc\/(\w+\.py|py\.typed))$/,
  /^bin\/svc(-agent|-server)?\.c?js$/,
  /^dist\/(base|client|proof|protocol)\/([\w-]+\/)*[\w-]+\.js$/,
  /^dist\/(client\/(client|files|index|robot)|base\/svc-error|proof\/([\w-]+\/)?[\w-]+|protocol\/(routes\/)?[\w-]+)\.d\.ts$/,
  /^dist\/sbom\.cdx\.json$/,
  /^dist\/cli\/([\w-]+\.cjs|scrypt-thread\.js|third-party-licenses\.txt)$/,
  /^dist\/programs\/([\w-]+\.(js|sql)|third-party-licenses\.txt)$/,
  /^dist\/dashboard\/((docs|index)\.html|icon\.svg|sample-bundle\.json|color-scheme\.js|third-party-licenses\.txt)$/,
  /^dist\/dashboard\/assets\/[\w-]+\.(js|css)(\.(br|gz))?$/,
  /^dist\/dashboard\/assets\/[\w-]+\.woff2$/,
  /^contracts\/ProofVerifier\.sol$/,
  /^deploy\/([\w-]+\.(conf|json|sh|yaml|yml)|Containerfile)$/,
  /^docs\/((decisions|guides)\/)?[\w-]+\.md$/,
  /^docs\/pictures\/[\w-]+\.(svg|webp)$/,
  /^examples\/([\w-]+\/)?[\w-]+\.(datalog|js|md|py|sh|yaml)$/,
];

let packed: PackedPackage;
let names: string[];
let tarball: Buffer;

beforeAll(async () => {
  packed = await packPackage();
  names = packed.files.map((file) => file.path);
  tarball = await readFile(packed.tarball);
});

it('contains only programs and documents', () => {
  expect(names.filter((name) => !shapes.some((shape) => shape.test(name)))).toEqual([]);
});

it.each(shapes.map((shape) => [shape]))('contains a file that matches %s', (shape) => {
  expect(names.some((name) => shape.test(name))).toBe(true);
});

it('contains every page that its pages link to', async () => {
  const pages = names.filter((name) => /^[^/]+\.md$|^docs\/.*\.md$/.test(name));
  const missing: string[] = [];
  for (const page of pages) {
    const text = await readFile(path.join(root, page), 'utf8');
    for (const [, link = ''] of text.matchAll(/(?:\]\(|src(?:set)?=")(?!\w+:|#)([^)"#]+)/g)) {
      const target = path.join(path.dirname(page), link);
      if (!names.some((name) => name === target || name.startsWith(`${target}/`))) {
        missing.push(`${page}: ${link}`);
      }
    }
  }

  expect(pages).toContain('README.md');
  expect(missing).toEqual([]);
});

it('is smaller than 4.6 MB, and than 12.4 MB unpacked', () => {
  expect(packed.size).toBeLessThan(4_600_000);
  expect(packed.unpackedSize).toBeLessThan(12_400_000);
});

it('is a valid package for npm, Node.js and bundlers', async () => {
  const { messages } = await publint({ pack: { tarball: new Uint8Array(tarball).buffer } });

  expect(messages).toEqual([]);
});

it('has types that match its code, for Node.js and for bundlers', async () => {
  const result = await checkPackage(createPackageFromTarballData(tarball));
  if (result.types === false) throw new Error('The package has no types');
  const { entrypoints, problems } = result;

  // It consists of ES modules: TypeScript's older resolution and CommonJS of older versions do not count.
  const ofOldResolutions = (problem: object) =>
    'resolutionKind' in problem &&
    (problem.resolutionKind === 'node10' || problem.resolutionKind === 'node16-cjs');
  expect(problems.filter((problem) => !ofOldResolutions(problem))).toEqual([]);
  expect(Object.keys(entrypoints)).toEqual([
    '.',
    './files',
    './robot',
    './proof',
    './package.json',
  ]);
});

describe('installed without its development dependencies', () => {
  let project: string;
  beforeAll(async () => {
    project = await mkdtemp(path.join(tmpdir(), 'svc-installed-'));
    await installPacked(project);
  });
  afterAll(() => rm(project, { recursive: true, force: true }));

  /** Runs a program, or Node.js with a script, in the project. */
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, args, { cwd: project, env: { PATH: process.env.PATH } });

  it('has every package that its code loads', async () => {
    const threads = /(checkpoint|recover)-thread\.js$/;
    const code = names.filter((name) => /^dist\/.*\.c?js$/.test(name) && !threads.test(name));
    const loaded = code
      .filter((name) => !name.startsWith('dist/dashboard/'))
      .map((name) => `./node_modules/robot-svc/${name}`);

    const script = `for (const file of ${JSON.stringify(loaded)}) await import(file);`;
    const { stderr } = await run('--input-type=module', '-e', script);

    expect(loaded.length).toBeGreaterThan(50);
    expect(stderr).toBe('');
  });

  it('allows bundlers to drop everything that a project does not use', async () => {
    const input = path.join(project, 'project.js');
    await writeFile(
      input,
      "import 'robot-svc'; import 'robot-svc/files'; import 'robot-svc/robot'; import 'robot-svc/proof';",
    );

    const bundle = await rolldown({ input, platform: 'node' });
    const { output } = await bundle.generate();

    expect(output).toMatchObject([{ moduleIds: [input], imports: [] }]);
    expect(output).toHaveLength(1);
  });
});
