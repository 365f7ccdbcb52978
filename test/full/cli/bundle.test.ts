import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
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
const verify = (file: string) =>
  user.svc(['verify', file, '--rpc-url', service.rpcUrl], { env: { SVC_URL: '' } });

describe('svc bundle', () => {
  it('writes a bundle to stdout that is verified with a node only, and warns before it is final', async () => {
    const { exitCode, stdout, stderr } = await bundle();
    await writeFile(user.file('bundle.json'), stdout);

    const verified = await verify(user.file('bundle.json'));

    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/^! The anchor is not final yet \((included|safe)\)\. /);
    expect(stderr).toContain(`svc tasks watch ${taskId} --until finalized\n`);
    expect(JSON.parse(stdout).proof).toEqual(proof);
    expect(stdout).not.toContain('\u202e');
    expect(verified).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it('writes a file, and omits the evidence', async () => {
    const file = user.file('bare.json');

    const { exitCode, stdout } = await bundle('--no-evidence', '--output', file);

    const written = JSON.parse(await readFile(file, 'utf8'));
    expect([exitCode, stdout]).toEqual([0, '']);
    expect(written).not.toHaveProperty('proof');
    expect((await verify(file)).exitCode).toBe(0);
  });

  it('exits with 8 before a completion, and while the anchor is pending', async () => {
    const id = await claim();
    const unclaimed = await user.svc(['bundle', id]);
    const done = robot.call('completeTask', { params: { id }, body: { proof: newEvidence() } });
    await waitFor('the transaction', async () => (await anchorOf(id))?.state === 'submitted');

    const pending = await user.svc(['bundle', id]);

    await service.rpc('evm_mine');
    await done;
    expect([unclaimed.exitCode, pending.exitCode]).toEqual([8, 8]);
    expect(unclaimed.stdout + pending.stdout).toBe('');
  });

  it('names the file that cannot be written', async () => {
    const { exitCode, stderr } = await bundle('--output', user.file('none/bundle.json'));

    expect(exitCode).toBe(1);
    expect(stderr).toContain('none/bundle.json (ENOENT)');
  });

  it('keeps the existing file if the new one does not fit', async () => {
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

  it('does not write an inconsistent bundle', async () => {
    const forger = createServer(async (request, response) => {
      const answer = await fetch(`${service.url}${request.url}`, {
        method: request.method ?? 'GET',
        headers: { cookie: request.headers.cookie ?? '' },
      });
      const body = (await answer.text()).replace('Pick parcels', 'Rest');
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(body);
    });
    forger.listen(0, '127.0.0.1');
    await once(forger, 'listening');
    const config = user.file('config/config.json');
    const genuine = await readFile(config, 'utf8');
    const url = `http://127.0.0.1:${(forger.address() as AddressInfo).port}`;
    await writeFile(config, genuine.replaceAll(service.url, url));

    const { exitCode, stdout, stderr } = await bundle();

    await writeFile(config, genuine);
    forger.close();
    expect([exitCode, stdout]).toEqual([3, '']);
    expect(stderr).toContain(
      'payload: The signed transaction does not contain the anchor of this proof',
    );
  });
});
