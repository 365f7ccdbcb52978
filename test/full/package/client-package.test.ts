// robot-svc-client: the library without the programs, installed and used as its page says.
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestAgent, type TestAgent } from '../../support/agent.ts';
import { type PackedPackage, packPackage } from '../../support/packed-package.ts';
import { startServiceWithRobot, type TestService } from '../../support/service.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const exec = promisify(execFile);

let packed: PackedPackage;
let tarball: Buffer;
let project: string;
let service: TestService;
let agent: TestAgent;

beforeAll(async () => {
  ({ client: packed } = await packPackage());
  tarball = await readFile(packed.tarball);
  project = await mkdtemp(path.join(tmpdir(), 'svc-client-'));
  await writeFile(path.join(project, 'package.json'), '{"private":true,"type":"module"}');
  await exec('npm', ['install', '--no-audit', '--no-fund', packed.tarball], { cwd: project });
  const started = await startServiceWithRobot({ chain: 'mining' });
  service = started.service;
  agent = await createTestAgent({ url: service.url, apiKey: started.robot.apiKey });
  await agent.start();
});
afterAll(async () => {
  await agent?.remove();
  await service?.close();
  await rm(project, { recursive: true, force: true });
});

it('has less than 5 MB with its dependencies, and nothing that is compiled', async () => {
  const modules = path.join(project, 'node_modules');
  const files = await readdir(modules, { recursive: true, withFileTypes: true });
  let bytes = 0;
  for (const file of files.filter((each) => each.isFile())) {
    bytes += (await stat(path.join(file.parentPath, file.name))).size;
  }
  const lockfile = JSON.parse(await readFile(path.join(project, 'package-lock.json'), 'utf8'));
  const packages: { hasInstallScript?: true }[] = Object.values(lockfile.packages);

  expect(bytes).toBeLessThan(5_000_000);
  expect(packed.size).toBeLessThan(200_000);
  expect(packages.some(({ hasInstallScript }) => hasInstallScript)).toBe(false);
  expect(files.filter(({ name }) => /\.(node|gyp)$/.test(name))).toEqual([]);
});

it('returns a receipt with the program of its page, which compiles', async () => {
  const page = await readFile(path.join(root, 'clients/typescript/README.md'), 'utf8');
  const [, example = ''] = /^```ts\n(.*?)^```$/ms.exec(page) ?? [];
  expect(example.split('\n').length).toBeLessThan(15);
  const program = example.replace('/run/svc-agent/agent.sock', agent.socketPath);
  await writeFile(path.join(project, 'robot.ts'), program);
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    module: 'nodenext',
    target: 'es2023',
    types: [],
  };
  const config = { compilerOptions, files: ['robot.ts'] };
  await writeFile(path.join(project, 'tsconfig.json'), JSON.stringify(config));

  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  const { stdout: errors } = await exec(process.execPath, [tsc, '-p', project]).catch((it) => it);
  const { stdout } = await exec(process.execPath, ['robot.js'], { cwd: project });

  expect(errors).toBe('');
  expect(JSON.parse(stdout)).toMatchObject({ format: 'svc-receipt/1', status: 'verified' });
});

it('loads every entry', async () => {
  const script = `
    const names = ['', '/files', '/robot', '/proof'].map((each) => 'robot-svc-client' + each);
    const entries = await Promise.all(names.map((name) => import(name)));
    console.log(JSON.stringify(entries.map((entry) => Object.keys(entry).length > 1)));`;

  const { stdout } = await exec(process.execPath, ['--input-type=module', '-e', script], {
    cwd: project,
  });

  expect(JSON.parse(stdout)).toEqual([true, true, true, true]);
});

it('is a valid package with types that match its code', async () => {
  const { messages } = await publint({ pack: { tarball: new Uint8Array(tarball).buffer } });
  const result = await checkPackage(createPackageFromTarballData(tarball));
  if (result.types === false) throw new Error('The package has no types');

  expect(messages).toEqual([]);
  const ofOldResolutions = (problem: object) =>
    'resolutionKind' in problem &&
    (problem.resolutionKind === 'node10' || problem.resolutionKind === 'node16-cjs');
  expect(result.problems.filter((problem) => !ofOldResolutions(problem))).toEqual([]);
});
