// Tells systemd that the service is ready, stopping or alive (sd_notify).
import { execFile } from 'node:child_process';
import type { Logger } from './logger.ts';

export interface ServiceManager {
  /** The service serves. The watchdog, where systemd keeps one, is fed from now on. */
  ready(): Promise<void>;
  /** The service stops by itself. */
  stopping(): Promise<void>;
}

export interface ServiceManagerOptions {
  environment: NodeJS.ProcessEnv;
  /** When the service last got on with its work, of `performance.now()`. */
  progressAt: () => number;
  logger: Logger;
}

/** `systemd-notify` waits up to 5 s until systemd has taken the message. */
const SEND_MS = 10_000;

/**
 * Tells systemd how the service is, by sd_notify(3), through the program `systemd-notify`; tells nobody where
 * systemd did not ask (`NOTIFY_SOCKET`). The watchdog is fed four times in its time (`WATCHDOG_USEC`), and not
 * at all while the service has got on with nothing for half of it.
 */
export function connectServiceManager(options: ServiceManagerOptions): ServiceManager {
  const { environment, progressAt, logger } = options;
  const watchdogMs = watchdogOf(environment);
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let starved = false;

  const feed = async () => {
    const standstillMs = performance.now() - progressAt();
    const stuck = standstillMs > watchdogMs / 2;
    if (stuck && !starved) {
      logger.error({ standstill_ms: Math.round(standstillMs) }, 'stuck; systemd will restart it');
    }
    starved = stuck;
    if (!stuck) await send(options, 'WATCHDOG=1');
    feedLater();
  };
  const feedLater = () => {
    if (!stopped) timer = setTimeout(feed, watchdogMs / 4).unref();
  };

  return {
    async ready() {
      await send(options, 'READY=1');
      if (watchdogMs > 0) feedLater();
    },
    async stopping() {
      stopped = true;
      clearTimeout(timer);
      await send(options, 'STOPPING=1');
    },
  };
}

/** Milliseconds; 0 where no watchdog watches this process. */
function watchdogOf({ WATCHDOG_USEC, WATCHDOG_PID }: NodeJS.ProcessEnv): number {
  const ours = WATCHDOG_PID === undefined || Number(WATCHDOG_PID) === process.pid;
  return ours && /^\d+$/.test(WATCHDOG_USEC ?? '') ? Number(WATCHDOG_USEC) / 1000 : 0;
}

/** Resolves when systemd has the message, or was seen not to take it, which is logged. */
function send(
  { environment: { NOTIFY_SOCKET, PATH }, logger }: ServiceManagerOptions,
  message: string,
): Promise<void> {
  if (!NOTIFY_SOCKET) return Promise.resolve();
  // The child gets no secret of this process's environment.
  const env = { NOTIFY_SOCKET, PATH };
  return new Promise((resolve) => {
    execFile('systemd-notify', [message], { env, timeout: SEND_MS }, (error) => {
      if (error) logger.error({ code: error.code, message }, 'systemd could not be told');
      resolve();
    });
  });
}
