import { createLogger } from '../../base/logger.ts';
import { invalidConfiguration } from '../../base/read-environment.ts';
import { readConfig } from '../config.ts';
import { stopSignal, untilStopped } from './until-stopped.ts';

/** `svc-server start`: runs until SIGTERM or SIGINT. */
export async function start(environment: NodeJS.ProcessEnv): Promise<void> {
  const config = readConfig(environment);
  const { values } = config;
  const missing = [
    ...(values.SVC_CHAIN_RPC_URL === undefined ? ['SVC_CHAIN_RPC_URL is not set'] : []),
    ...(values.SVC_ANCHOR_PRIVATE_KEY === undefined && values.SVC_ANCHOR_KEY_FILE === undefined
      ? ['SVC_ANCHOR_KEY_FILE is not set']
      : []),
  ];
  if (missing.length > 0) {
    throw invalidConfiguration(
      missing,
      'Set it, or run svc-server dev, which brings a local chain and keys.',
    );
  }
  const stopped = stopSignal();
  const { startServer } = await import('../main.ts');
  const logger = createLogger(values.SVC_LOG_LEVEL);
  const server = await startServer(config, { logger });
  await untilStopped(server, logger, stopped);
}
