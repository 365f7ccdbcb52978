// The Python package: its build, its types, and what it shares with the service.
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { agentErrors } from '../../../src/agent/errors.ts';
import { errors } from '../../../src/protocol/errors.ts';
import {
  buildPythonClient,
  needsPythonClient,
  pythonFolder,
  runClient,
} from '../../support/python-client.ts';
import { needsProgram } from '../../support/require-program.ts';

const exec = promisify(execFile);
const root = path.resolve(import.meta.dirname, '../../..');
const source = path.join(pythonFolder, 'src/robot_svc');

it('builds the same bytes twice', async (context) => {
  const first = await needsPythonClient(context);
  const second = await buildPythonClient(first.builder, tmpdir());

  for (const kind of ['wheel', 'sdist'] as const) {
    expect(path.basename(second[kind])).toBe(path.basename(first[kind]));
    expect((await readFile(second[kind])).equals(await readFile(first[kind]))).toBe(true);
    expect((await stat(first[kind])).size).toBeLessThan(60_000);
  }
});

it('has the version of the service', async (context) => {
  const client = await needsPythonClient(context);
  const code = `
import importlib.metadata, json, robot_svc
print(json.dumps([robot_svc.__version__, importlib.metadata.version("robot-svc")]))
`;
  const { version } = packageJson;

  expect(JSON.parse(await runClient(client, code))).toEqual([version, version]);
});

it('repeats what the error table says', async (context) => {
  const client = await needsPythonClient(context);
  const code =
    'import json; from robot_svc import errors; print(json.dumps(sorted(errors.RETRYABLE)))';
  const table = { ...errors, ...agentErrors };

  const retryable = JSON.parse(await runClient(client, code));

  const expected = Object.entries(table).filter(([, row]) => row.retryable);
  expect(retryable).toEqual(expected.map(([name]) => name).sort());
});

it('passes mypy --strict', async (context) => {
  const mypy = needsProgram(context, 'mypy');

  const { stdout } = await exec(mypy, ['--strict', '--cache-dir', '/dev/null', 'src/robot_svc'], {
    cwd: pythonFolder,
  }).catch((error) => error);

  expect(stdout).toContain('Success: no issues found');
});

it('has the verifier of examples/', async () => {
  const [own, example] = await Promise.all(
    [path.join(source, 'verify.py'), path.join(root, 'examples/verify.py')].map((file) =>
      readFile(file, 'utf8'),
    ),
  );

  expect(own).toBe(example);
});

it('verifies a bundle', async (context) => {
  const { python } = await needsPythonClient(context);
  const bundle = path.join(root, 'test/fixtures/bundle-2.json');
  const block = '0x92866e84109b537f3828f7e13e8e8fc6422591089c82eb2ec304e6a39dedb825';
  const sender = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266';
  const verify = (...args: string[]) =>
    exec(python, ['-m', 'robot_svc', 'verify', bundle, ...args]);

  const { stdout } = await verify(block, '--anchor-address', sender);

  expect(stdout).toContain('Verified: ');
  const other = `0x${'1'.repeat(64)}`;
  await expect(verify(other, '--anchor-address', sender)).rejects.toMatchObject({ code: 3 });
});
