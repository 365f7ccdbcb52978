// `svc-agent run`: the daemon as a process, from its environment to its last signal.
import type { Command } from 'commander';
import { stopSignal } from '../../base/install/stop-signal.ts';

export function addCommands(program: Command): void {
  program
    .command('run')
    .description('Run the daemon, configured by SVC_AGENT_… variables, until SIGTERM or SIGINT')
    .addHelpText(
      'after',
      '\nExample:\n  SVC_AGENT_URL=https://svc.example.org SVC_AGENT_KEY_FILE=/etc/svc-agent/key svc-agent run',
    )
    .action(() => run(process.env));
}

async function run(environment: NodeJS.ProcessEnv): Promise<void> {
  const { readConfig } = await import('../config.ts');
  const config = readConfig(environment, { service: true });
  const stopped = stopSignal();
  // Loading the daemon takes time; report a wrong configuration before.
  const { startAgent } = await import('../agent.ts');
  const { createLogger } = await import('../../base/logger.ts');
  const { connectServiceManager } = await import('../../base/install/service-manager.ts');
  const logger = createLogger(config.values.SVC_AGENT_LOG_LEVEL);
  const agent = await startAgent(config, { logger });
  const progressAt = () => agent.progressAt();
  const manager = connectServiceManager({ environment, progressAt, logger });
  await manager.ready();
  const signal = await stopped;
  logger.info({ signal }, 'stopping');
  await Promise.all([agent.close(), manager.stopping()]);
}
