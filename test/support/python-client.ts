import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, type TestContext } from 'vitest';
import { isMissing } from './require-program.ts';
import { askRun } from './test-run.ts';

const exec = promisify(execFile);
export const pythonFolder = path.resolve(import.meta.dirname, '../../clients/python');

export interface PythonClient {
  /** Python of a virtual environment with the wheel. */
  python: string;
  /** Python with the modules that build. */
  builder: string;
  wheel: string;
  sdist: string;
}

/** The installed client, built once in a run. Skips the test if no Python here can build it. */
export async function needsPythonClient(
  context: Pick<TestContext, 'task' | 'skip'>,
): Promise<PythonClient> {
  return (await askRun<PythonClient | null>('python')) ?? isMissing(context, 'python3-build');
}

/** Builds the client, and installs the wheel without a network. Null if no Python here can. */
export async function makePythonClient(): Promise<PythonClient | null> {
  const builder = await findBuilder();
  if (builder === null) return null;
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-python-'));
  const built = await buildPythonClient(builder, folder);
  const environment = path.join(folder, 'venv');
  await exec(builder, ['-I', '-m', 'venv', environment]);
  const python = path.join(environment, 'bin/python');
  await exec(python, ['-m', 'pip', 'install', '--quiet', '--no-index', built.wheel]);
  return { python, builder, ...built };
}

/** Builds sdist and wheel in a new subfolder, from a copy of the sources. */
export async function buildPythonClient(builder: string, folder: string) {
  const copy = await mkdtemp(path.join(folder, 'source-'));
  const out = path.join(copy, 'dist');
  const filter = (file: string) => !/(__pycache__|\.egg-info|\/dist|\/build)$/.test(file);
  await cp(pythonFolder, copy, { recursive: true, filter });
  await mkdir(out);
  await exec(builder, ['-I', '-m', 'build', '--no-isolation', '--outdir', out, copy], {
    env: { PATH: process.env.PATH, SOURCE_DATE_EPOCH: '1767225600' },
  });
  const names = await readdir(out);
  const ofType = (end: string) => path.join(out, names.find((name) => name.endsWith(end)) ?? '');
  return { wheel: ofType('.whl'), sdist: ofType('.tar.gz') };
}

async function findBuilder(): Promise<string | null> {
  for (const folder of (process.env.PATH ?? '').split(path.delimiter)) {
    const python = path.join(folder, 'python3');
    // Isolated, because the folder `build` of a clone is no module.
    const imports = ['-I', '-c', 'import build.__main__, setuptools, wheel, ensurepip'];
    if (await exec(python, imports).catch(() => null)) return python;
  }
  return null;
}

/** Runs Python code with the client, and returns what it prints. Warnings are errors. */
export async function runClient(
  { python }: PythonClient,
  code: string,
  env: Record<string, string> = {},
): Promise<string> {
  const { stdout } = await exec(python, ['-W', 'error', '-c', code], {
    env: { PATH: process.env.PATH, ...env },
  }).catch((error) => expect.unreachable(`${error.stderr}`));
  return stdout;
}
