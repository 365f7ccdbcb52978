import { execFile } from 'node:child_process';
import type { Logger } from '../base/logger.ts';

/**
 * Tells systemd that the agent is ready, and, while `isWell` says so, that it is alive (sd_notify(3)). Node cannot write to a
 * datagram socket by itself, so that systemd-notify does, which needs NotifyAccess=all. Without NOTIFY_SOCKET
 * nothing is told.
 */
export function startServiceManager(
  { NOTIFY_SOCKET, WATCHDOG_USEC }: NodeJS.ProcessEnv,
  logger: Logger,
  isWell: () => boolean,
): { stopping(): void } {
  if (!NOTIFY_SOCKET) return { stopping() {} };
  const tell = (...states: string[]) => {
    execFile('systemd-notify', [`--pid=${process.pid}`, ...states], (error) => {
      if (error) logger.error({ code: error.code }, 'systemd-notify failed');
    });
  };
  tell('--ready', 'STATUS=Robots can call');
  const everyMs = Number(WATCHDOG_USEC ?? 0) / 1000 / 3;
  const timer =
    everyMs > 0 ? setInterval(() => isWell() && tell('WATCHDOG=1'), everyMs).unref() : undefined;
  return {
    stopping() {
      clearInterval(timer);
      tell('STOPPING=1');
    },
  };
}
