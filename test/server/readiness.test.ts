import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { readConfig } from '../../src/server/config.ts';
import { startServer } from '../../src/server/main.ts';
import { anvilAccounts, startTestChain } from '../support/anvil.ts';

const FUNDED = anvilAccounts[0].privateKey;
const POOR = `0x${'11'.repeat(32)}`;

/** A server with an account per key, on its way through its first check. */
async function start(keys: readonly string[], variables: Record<string, string>) {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-readiness-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const files = keys.map((_, i) => path.join(folder, `key-${i}`));
  await Promise.all(files.map((file, i) => writeFile(file, keys[i] ?? '', { mode: 0o600 })));
  const config = readConfig({
    SVC_PORT: '0',
    SVC_DATA_DIR: folder,
    SVC_ANCHOR_KEY_FILE: files.join(),
    ...variables,
  });
  const server = await startServer(config, { logger: pino({ level: 'silent' }) });
  onTestFinished(server.close);
  return server.url;
}

it.each([
  { name: 'one new account', keys: [POOR] },
  { name: 'the second of two accounts', keys: [FUNDED, POOR] },
])('shows in its first response that $name has no funds', async ({ keys }) => {
  const chain = await startTestChain();
  onTestFinished(chain.close);

  const url = await start(keys, { SVC_CHAIN_RPC_URL: chain.url });
  const first = await (await fetch(`${url}/readyz`)).json();

  expect(first).toMatchObject({
    status: 'degraded',
    degraded: ['no_public_rpc_url', 'underfunded'],
  });
});

it('reports in svc_degraded the reasons of /readyz, even while anchoring continues', async () => {
  const url = await start([POOR], {
    SVC_CHAIN_RPC_URL: 'http://127.0.0.1:9',
    SVC_DISK_MIN_FREE_MB: '1000000000',
  });

  const { degraded } = JSON.parse(await (await fetch(`${url}/readyz`)).text());
  const metrics = await (await fetch(`${url}/metrics`)).text();

  expect(degraded).toEqual(expect.arrayContaining(['chain_unreachable', 'disk_low']));
  const reported = [...metrics.matchAll(/^svc_degraded\{reason="(\w+)"\} 1$/gm)];
  expect(reported.map(([, reason]) => reason)).toEqual(degraded);
});
