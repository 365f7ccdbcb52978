import type { Logger } from '../../base/logger.ts';
import type { Server } from '../main.ts';

/**
 * Answers the exit code when the server has stopped: 0 after SIGTERM or SIGINT, 1 when its store can no
 * longer be trusted, so that a supervisor starts it again. A second signal ends the process at once.
 */
export async function untilStopped(server: Server, logger: Logger): Promise<number> {
  const reason = await Promise.race([
    new Promise<NodeJS.Signals>((resolve) => {
      for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => resolve(name));
    }),
    server.failed,
  ]);
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => process.exit(130));
  logger.info({ reason }, 'stopping');
  await server.close();
  return reason === 'store_failed' ? 1 : 0;
}
