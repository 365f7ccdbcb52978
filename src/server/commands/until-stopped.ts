import type { Logger } from '../../base/logger.ts';
import type { Server } from '../main.ts';

/**
 * Resolves when the server has stopped after SIGTERM or SIGINT; the process exits when its store can
 * no longer be trusted. A second signal ends it at once.
 */
export async function untilStopped(server: Server, logger: Logger): Promise<void> {
  const signal = await Promise.race([
    new Promise<NodeJS.Signals>((resolve) => {
      for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => resolve(name));
    }),
    server.failed,
  ]);
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => process.exit(130));
  logger.info({ signal }, 'stopping');
  await server.close();
}
