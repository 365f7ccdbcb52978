import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '../../src/server/config.ts';
import { environment } from '../../src/server/environment.ts';
import { startServer } from '../../src/server/main.ts';
import { newWallet } from '../support/service.ts';
import { send } from '../support/wire.ts';

let folder: string;
let keyFile: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-local-webhooks-'));
  keyFile = path.join(folder, 'webhook.key');
  await writeFile(keyFile, '00'.repeat(32), { mode: 0o600 });
});
afterAll(() => rm(folder, { recursive: true }));

/** Status and error of a webhook with http to this machine, on a server with this start's constant. */
async function createLocal(deps: { localWebhooks?: true }) {
  const account = newWallet();
  const config = readConfig({
    SVC_PORT: '0',
    SVC_DATA_DIR: await mkdtemp(path.join(folder, 'data-')),
    SVC_CHAIN_RPC_URL: 'http://127.0.0.1:9',
    SVC_CHAIN_ID: '31337',
    SVC_ANCHOR_PRIVATE_KEY: '11'.repeat(32),
    SVC_WEBHOOK_KEY_FILE: keyFile,
    SVC_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8,::1',
    SVC_WEBHOOK_ALLOW_WALLETS: account.address,
  });
  const server = await startServer(config, { logger: pino({ level: 'silent' }), ...deps });
  try {
    const { address } = account;
    const asked = await send(server.url, 'POST', '/api/auth/challenge', { body: { address } });
    const signature = await account.signMessage({ message: asked.body.message });
    const body = { address, signature };
    const signedIn = await send(server.url, 'POST', '/api/auth/verify', { body });
    const [, session = ''] = /svc_session=([^;]+)/.exec(`${signedIn.headers.getSetCookie()}`) ?? [];
    const hook = { url: 'http://127.0.0.1:4242/', events: ['event.created'] };
    const created = await send(server.url, 'POST', '/api/v1/webhooks', { session, body: hook });
    return [created.status, created.body.error];
  } finally {
    await server.close();
  }
}

it('refuses a webhook with http to this machine, whatever the variables', async () => {
  expect(await createLocal({})).toEqual([400, 'webhook_url_refused']);
});

it('accepts it with the constant of svc-server dev', async () => {
  expect(await createLocal({ localWebhooks: true })).toEqual([201, undefined]);
});

it('has the constant only in dev, and no variable for it', () => {
  const src = path.resolve(import.meta.dirname, '../../src');
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' });
  const setting = files.filter(
    (file) =>
      file.endsWith('.ts') &&
      readFileSync(path.join(src, file), 'utf8').includes('localWebhooks: '),
  );

  expect(setting).toEqual(['server/commands/dev.ts']);
  expect(Object.keys(environment.properties).filter((name) => /LOCAL|HTTP$/.test(name))).toEqual(
    [],
  );
});
