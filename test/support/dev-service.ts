import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { readConfig } from '../../src/server/config.ts';
import { startServer } from '../../src/server/main.ts';
import { anvilAccounts, startTestChain } from './anvil.ts';
import { recordLog } from './failure-records.ts';
import { quickPauses } from './quick-pauses.js';

export interface DevService {
  url: string;
  rpc_url: string;
  stop(): Promise<unknown>;
}

/**
 * The service and chain of `svc-server dev` in this process, with ten blocks a second. One that is `shared` by many
 * tests has a block a second, so that it does little while they do other things, and one more at each step of an anchor.
 */
export async function startDevService({ shared = false } = {}): Promise<DevService> {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-dev-'));
  const anvil = await startTestChain({ blockTime: shared ? 1 : 0.1 });
  const webhookKey = path.join(folder, 'webhook.key');
  await writeFile(webhookKey, randomBytes(32).toString('hex'), { mode: 0o600 });
  const config = readConfig({
    SVC_PORT: '0',
    SVC_DATA_DIR: folder,
    SVC_CHAIN_RPC_URL: anvil.url,
    SVC_PUBLIC_RPC_URL: anvil.url,
    SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[0].privateKey,
    SVC_SIGNUP_ANCHORS: '1000000',
    SVC_SIGNUP_GAS_WEI: '1000000000000000000000',
    SVC_WEBHOOK_KEY_FILE: webhookKey,
  });
  const log: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line) => log.push(line) });
  const logEnded = recordLog('service.log', () => log.join(''));
  const server = await startServer(config, {
    logger,
    anchoring: { pauses: quickPauses },
    ...(shared && { onAnchorStep: anvil.mine }),
  });
  return {
    url: server.url,
    rpc_url: anvil.url,
    async stop() {
      await server.close();
      await anvil.close();
      logEnded();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
