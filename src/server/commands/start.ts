import { createLogger } from '../../base/logger.ts';
import { connectServiceManager } from '../../base/service-manager.ts';
import { readConfig } from '../config.ts';
import { stopSignal, untilStopped } from './until-stopped.ts';
import { withoutGrowth } from './young-generation.ts';

/** `svc-server start`: runs until SIGTERM or SIGINT; throws `store_failed` when the database fails. */
export async function start(environment: NodeJS.ProcessEnv): Promise<void> {
  const config = readConfig(environment, { chain: true });
  const stopped = stopSignal();
  const logger = createLogger(config.values.SVC_LOG_LEVEL);
  const server = await withoutGrowth(async () => {
    const { startServer } = await import('../main.ts');
    return startServer(config, { logger });
  });
  const { progressAt } = server;
  const manager = connectServiceManager({ environment, progressAt, logger });
  await manager.ready();
  await untilStopped(server, logger, stopped, manager);
}
