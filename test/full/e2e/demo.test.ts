import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { startDev } from '../../support/programs.ts';
import { waitFor } from '../../support/wait-for.ts';

const root = path.resolve(import.meta.dirname, '../../..');

function start(...args: string[]) {
  const program = path.join(root, 'bin/svc-server.js');
  const child = spawn(process.execPath, [program, 'demo', ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return { child, ended: once(child, 'close') };
}

describe('examples/sign-in.js', () => {
  it('prints a session in shell syntax', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'svc-sign-in-'));
    const dev = await startDev(folder);
    const script = path.join(root, 'examples/sign-in.js');

    const { stdout } = await promisify(execFile)(process.execPath, [script, dev.url]);

    const [, url, session] = /^export URL=(\S+) SESSION=(\S+)\n$/.exec(stdout) ?? [];
    const headers = { cookie: `svc_session=${session}` };
    expect((await fetch(`${url}/api/v1/robots`, { headers })).status).toBe(200);
    await dev.stop();
    await rm(folder, { recursive: true, force: true });
  });
});

describe('svc-server demo', () => {
  it('keeps the service running with --keep, and stops it on Ctrl-C', async () => {
    const { child, ended } = start('--keep');
    let printed = '';
    child.stdout.on('data', (chunk) => {
      printed += chunk;
    });
    await waitFor('how to go on', () => printed.includes('To go on'));
    const verify = /curl (http\S+\/api\/v1\/verify\/0x\w+)/.exec(printed)?.[1] ?? '';
    expect(await (await fetch(verify)).json()).toMatchObject({ verified: true });

    child.kill('SIGINT');
    await ended;

    expect(child.exitCode).toBe(130);
    await expect(fetch(verify)).rejects.toThrow();
  });
});
