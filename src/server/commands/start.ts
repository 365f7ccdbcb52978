import { createLogger } from '../../base/logger.ts';
import { readConfig } from '../config.ts';
import { untilStopped } from './until-stopped.ts';

/** `svc-server start`: runs until SIGTERM or SIGINT, or until the database fails; answers the exit code. */
export async function start(environment: NodeJS.ProcessEnv): Promise<number> {
  const config = readConfig(environment, { chain: true });
  const { startServer } = await import('../main.ts');
  const logger = createLogger(config.values.SVC_LOG_LEVEL);
  const server = await startServer(config, { logger });
  return untilStopped(server, logger);
}
