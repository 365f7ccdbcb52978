import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newEvidence, startTestService, type TestService } from '../../support/service.ts';
import { createSvcUser, registerRobot, type SvcUser } from '../../support/svc.ts';
import { waitFor } from '../../support/wait-for.ts';

const bin = fileURLToPath(new URL('../../../bin/svc.cjs', import.meta.url));

let service: TestService;
let user: SvcUser;
let robot: Awaited<ReturnType<typeof registerRobot>>['robot'];
let taskId: string;
const proof = { ...newEvidence(), note: 'left\u202eright' };

beforeAll(async () => {
  service = await startTestService({ chain: 'manual' });
  user = await createSvcUser(service.url);
  await user.signIn();
  ({ robot } = await registerRobot(service.url, user, 'arm'));
  taskId = await claim();
  const done = robot.call('completeTask', { params: { id: taskId }, body: { proof } });
  await waitFor('the transaction', async () => (await anchorOf(taskId))?.state === 'submitted');
  await service.rpc('evm_mine');
  await done;
});

afterAll(async () => {
  await user?.remove();
  await service?.close();
});

async function claim(): Promise<string> {
  const { body } = await robot.call('createTask', { body: { title: 'Pick parcels' } });
  return body.task.id;
}

async function anchorOf(id: string) {
  return (await robot.call('getTask', { params: { id } })).body.anchor;
}

const bundle = (...args: string[]) => user.svc(['bundle', taskId, ...args]);
/** Runs `svc bundle` as the words `"$0" "$@"` of a bash command. */
async function inBash(command: string, ...args: string[]) {
  const words = [process.execPath, bin, 'bundle', taskId, ...args];
  const child = spawn('bash', ['-c', command, ...words], {
    env: { PATH: process.env.PATH, ...user.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { exitCode: child.exitCode, stdout, stderr };
}

describe('svc bundle', () => {
  it('leaves the file that was there where the new one does not fit', async () => {
    await mkdir(user.file('kept'));
    const file = user.file('kept/bundle.json');
    await writeFile(file, 'earlier');
    // As a full disk would: no file of this process grows beyond a KiB.
    const { exitCode, stderr } = await inBash('ulimit -f 1; exec "$0" "$@"', '--output', file);

    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('(EFBIG)')]);
    expect(await readdir(user.file('kept'))).toEqual(['bundle.json']);
    expect(await readFile(file, 'utf8')).toBe('earlier');
  });

  it('writes to a pipe or a device, and through a link', async () => {
    await writeFile(user.file('target.json'), 'earlier', { mode: 0o600 });
    await symlink(user.file('target.json'), user.file('link.json'));

    const piped = await inBash('"$0" "$@" | cat', '--output', '/dev/stdout');
    await bundle('--output', user.file('link.json'));

    const { mode } = await stat(user.file('target.json'));
    expect(JSON.parse(piped.stdout).task.id).toBe(taskId);
    expect(await readFile(user.file('target.json'), 'utf8')).toBe(piped.stdout);
    expect([await readlink(user.file('link.json')), mode & 0o777]).toEqual([
      user.file('target.json'),
      0o600,
    ]);
  });
});
