import type { Logger } from '../../base/logger.ts';
import type { ServiceManager } from '../../base/service-manager.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Server } from '../main.ts';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * The first signal to stop from now on; a second one ends the process at once. Called before the start, so
 * that a signal during it stops what has started by then.
 */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let stopping = false;
    for (const name of SIGNALS) {
      process.on(name, () => {
        if (stopping) process.exit(130);
        stopping = true;
        resolve(name);
      });
    }
  });
}

/**
 * Resolves when the server has stopped after the signal. Throws `store_failed` when it has stopped because
 * its store can no longer be trusted.
 */
export async function untilStopped(
  server: Server,
  logger: Logger,
  stopped: Promise<NodeJS.Signals>,
  manager?: ServiceManager,
): Promise<void> {
  const reason = await Promise.race([stopped, server.failed]);
  logger.info({ reason }, 'stopping');
  await Promise.all([server.close(), manager?.stopping()]);
  if (reason === 'store_failed') {
    throw new SvcError('store_failed', 'The database failed; the log says how.');
  }
}
