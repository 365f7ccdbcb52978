import type { FastifyInstance } from 'fastify';
import type { AnswersDue } from './answers-due.ts';

const CHECK_MS = 20;
/** Answers under way get so long; a slow sender must not hold up a shutdown. */
const GRACE_MS = 10_000;

/**
 * Makes `close()` end connections once no answer is under way. Node by itself waits for every
 * connection that was opened and never used, and checks no time-outs any more while it does.
 */
export function drainOnClose(app: FastifyInstance, answers: AnswersDue): void {
  let timer: NodeJS.Timeout | undefined;
  app.addHook('preClose', async () => {
    const end = performance.now() + GRACE_MS;
    timer = setInterval(() => {
      if (!answers.any || performance.now() > end) app.server.closeAllConnections();
    }, CHECK_MS);
  });
  app.addHook('onClose', async () => clearInterval(timer));
}
