// `svc-server dev`: runs the service with a local chain.
import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isLoopback } from '../../base/addresses.ts';
import { makeDurableFolder } from '../../base/durable-folder.ts';
import { stopSignal } from '../../base/install/stop-signal.ts';
import { createLogger } from '../../base/logger.ts';
import { SvcError } from '../../base/svc-error.ts';
import { readConfig } from '../config.ts';
import { environment } from '../environment.ts';
import { startAnvil } from './dev-chain.ts';
import { type Output, print } from './print.ts';
import { untilStopped } from './start.ts';

interface DevOptions extends Output {
  host: string;
  port: number;
  dataDir: string;
}

/** The first account of every anvil; public, and worthless anywhere else. */
const DEV_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';

/** Runs service and chain on this machine, with generous grants, until a signal stops them. */
export async function dev(_: NodeJS.ProcessEnv, options: DevOptions): Promise<void> {
  if (!isLoopback(options.host)) {
    throw new SvcError('usage', '--host must be a loopback address: the keys of dev are public.', {
      hint: 'Use svc-server start to serve other machines.',
    });
  }
  const dataDir = path.resolve(options.dataDir);
  warnOfVariables();
  makeDurableFolder(dataDir);
  const stopped = stopSignal();
  const { startServer } = await import('../main.ts');
  const anvil = await startAnvil({ stateFile: path.join(dataDir, 'chain.json') });
  try {
    const config = readConfig({
      SVC_HOST: options.host,
      SVC_PORT: String(options.port),
      SVC_DATA_DIR: dataDir,
      SVC_CHAIN_RPC_URL: anvil.url,
      SVC_PUBLIC_RPC_URL: anvil.url,
      SVC_ANCHOR_PRIVATE_KEY: DEV_KEY,
      SVC_SIGNUP_ANCHORS: '1000000',
      SVC_SIGNUP_GAS_WEI: '1000000000000000000000',
      SVC_WEBHOOK_KEY_FILE: webhookKeyFile(dataDir),
      SVC_LOG_LEVEL: 'warn',
    });
    const logger = createLogger(config.values.SVC_LOG_LEVEL);
    const server = await startServer(config, {
      logger,
      listenSettings: '--port',
      localWebhooks: true,
    });
    const lines = [
      `service   ${server.url}`,
      `chain     ${anvil.url} (id 31337, a block a second)`,
      `data      ${dataDir}`,
      'accounts  each new wallet gets 1000000 anchors and 1000 ETH of gas credit',
      'stop      Ctrl-C',
    ];
    const where = { url: server.url, rpc_url: anvil.url, chain_id: 31337, data_dir: dataDir };
    print(where, lines, options);
    await untilStopped(server, logger, stopped);
  } finally {
    await anvil.close();
  }
}

/** The key stays with the data, whose secrets it seals. */
function webhookKeyFile(dataDir: string): string {
  const file = path.join(dataDir, 'webhook.key');
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600 });
  return file;
}

const optionOf: Readonly<Record<string, string>> = {
  SVC_HOST: '--host',
  SVC_PORT: '--port',
  SVC_DATA_DIR: '--data-dir',
};

/** Warns of each variable of `start` that is set. */
function warnOfVariables(): void {
  for (const name of Object.keys(environment.properties)) {
    if (!process.env[name]) continue;
    const instead = optionOf[name] ?? 'svc-server start';
    process.stderr.write(`svc-server: dev ignores ${name}; use ${instead}.\n`);
  }
}
