import { createLogger } from '../../base/logger.ts';
import { readConfig } from '../config.ts';
import { startServiceManager } from '../service-manager.ts';

/** `svc-agent run`: until SIGTERM or SIGINT; a second one ends it at once. */
export async function run(environment: NodeJS.ProcessEnv): Promise<void> {
  const config = readConfig(environment, { service: true });
  const stopped = stopSignal();
  const { startAgent } = await import('../agent.ts');
  const logger = createLogger(config.values.SVC_AGENT_LOG_LEVEL);
  const agent = await startAgent(config, { logger });
  const manager = startServiceManager(environment, logger, () => agent.isWell());
  const signal = await stopped;
  logger.info({ signal }, 'stopping');
  manager.stopping();
  await agent.close();
}

function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let stopping = false;
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      process.on(name, () => {
        if (stopping) process.exit(130);
        stopping = true;
        resolve(name);
      });
    }
  });
}
