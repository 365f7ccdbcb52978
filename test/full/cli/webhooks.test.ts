// Tries a webhook as a person would: svc-server dev, and svc webhooks listen on the same machine.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { type DevProcess, programFile, startDev } from '../../support/programs.ts';
import { createSvcUser, type SvcUser } from '../../support/svc.ts';
import { waitFor } from '../../support/wait-for.ts';

let folder: string;
let dev: DevProcess;
let user: SvcUser;
let port: number;
let url: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-try-webhooks-'));
  dev = await startDev(path.join(folder, 'data'));
  user = await createSvcUser(dev.url);
  await user.signIn();
  port = await freePort();
  url = `http://127.0.0.1:${port}/`;
  const { stdout: secret } = await user.svc(['webhooks', 'create', url]);
  await writeFile(user.file('secret'), secret, { mode: 0o600 });
});
afterAll(async () => {
  await dev.stop();
  await user.remove();
  await rm(folder, { recursive: true, force: true });
});

it.each([
  ['a line', [], /^\d{4}-\S+Z\ttest\t[0-9a-f-]{36}\tok\t\{"type":"test",.*\}\n$/],
  [
    'a JSON object',
    ['--json'],
    /^\{"received_at":.*"type":"test","signature":"ok","message":.*\}\n$/,
  ],
])('svc webhooks listen prints %s for each message, until Ctrl-C', async (_, more, shows) => {
  const args = ['webhooks', 'listen', '--port', `${port}`, '--secret-file', user.file('secret')];
  const child = spawn(process.execPath, [programFile('svc'), ...args, ...more], {
    env: { PATH: process.env.PATH, ...user.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk) => {
      printed[name] += chunk;
    });
  }
  await waitFor('the listener', () => fetch(url).catch(() => null));

  await user.svc(['webhooks', 'test', url]);
  await waitFor('the message', () => printed.stdout.includes('\n'));
  const { items } = await waitFor('its delivery', async () => {
    const log = await user.json('webhooks', 'deliveries', url);
    return log.items[0]?.state === 'delivered' && log;
  });
  child.kill('SIGINT');
  await ended;

  expect(printed.stdout).toMatch(shows);
  expect(printed.stderr).toBe(more.length > 0 ? '' : `Listening at ${url} until Ctrl-C.\n`);
  expect(items[0]).toMatchObject({ type: 'test', last_status: 204 });
  expect(child.exitCode).toBe(130);
});
