import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readConfig } from '../../src/server/config.ts';
import { startServer } from '../../src/server/main.ts';
import { anvilAccounts, startTestChain, type TestChain } from '../support/anvil.ts';

const [first, , third] = anvilAccounts;

let node: TestChain;
let folder: string;

beforeEach(async () => {
  node = await startTestChain();
  folder = await mkdtemp(path.join(tmpdir(), 'svc-code-'));
});
afterEach(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

const start = () =>
  startServer(
    readConfig({
      SVC_PORT: '0',
      SVC_DATA_DIR: folder,
      SVC_CHAIN_RPC_URL: node.url,
      SVC_ANCHOR_PRIVATE_KEY: `${first.privateKey},${third.privateKey}`,
    }),
    { logger: pino({ level: 'silent' }) },
  );

it('refuses to start with an account that has code, even delegated code', async () => {
  // What EIP-7702 puts there.
  await node.rpc('anvil_setCode', [third.address, `0xef0100${'ab'.repeat(20)}`]);

  await expect(start()).rejects.toMatchObject({
    code: 'sender_has_code',
    message: `The anchoring account ${third.address} has code.`,
  });

  // Nothing of it is left behind: the same database starts with plain accounts.
  await node.rpc('anvil_setCode', [third.address, '0x']);
  const server = await start();
  await server.close();
});
