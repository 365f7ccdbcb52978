import { createLogger } from '../../base/logger.ts';
import { connectServiceManager } from '../../base/service-manager.ts';
import { readConfig } from '../config.ts';

/** `svc-agent run`: until SIGTERM or SIGINT; a second one ends it at once. */
export async function run(environment: NodeJS.ProcessEnv): Promise<void> {
  const config = readConfig(environment, { service: true });
  const stopped = stopSignal();
  const { startAgent } = await import('../agent.ts');
  const logger = createLogger(config.values.SVC_AGENT_LOG_LEVEL);
  const agent = await startAgent(config, { logger });
  const progressAt = () => agent.progressAt();
  const manager = connectServiceManager({ environment, progressAt, logger });
  await manager.ready();
  const signal = await stopped;
  logger.info({ signal }, 'stopping');
  await Promise.all([agent.close(), manager.stopping()]);
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
