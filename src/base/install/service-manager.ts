// Notifies systemd that the service is ready, stopping or alive (sd_notify).
import { execFile } from 'node:child_process';
import { passed } from '../async/on-abort.ts';
import type { Logger } from '../logger.ts';

export type ServiceManager = ReturnType<typeof connectServiceManager>;

interface ServiceManagerOptions {
  environment: NodeJS.ProcessEnv;
  /** When the service last made progress (`performance.now()`). */
  progressAt: () => number;
  logger: Logger;
}

/** `systemd-notify` itself waits up to 5 s until systemd has received the message. */
const SEND_MS = 10_000;

/**
 * Connects to systemd by sd_notify(3), through the program `systemd-notify`. Does nothing if systemd did not ask for it
 * (`NOTIFY_SOCKET`). Feeds the watchdog four times per period (`WATCHDOG_USEC`), but not while the service has made no
 * progress for half a period.
 */
export function connectServiceManager(options: ServiceManagerOptions) {
  const { environment, progressAt, logger } = options;
  const watchdogMs = watchdogOf(environment);
  const stopping = new AbortController();

  const feed = async () => {
    let starved = false;
    while (await passed(watchdogMs / 4, stopping.signal)) {
      const standstillMs = performance.now() - progressAt();
      const stuck = standstillMs > watchdogMs / 2;
      if (stuck && !starved) {
        logger.error(
          { standstill_ms: Math.round(standstillMs) },
          'no progress: watchdog not fed, systemd restarts the service',
        );
      }
      starved = stuck;
      if (!stuck) await send(options, 'WATCHDOG=1');
    }
  };

  return {
    /** Reports that the service is ready. From now on the watchdog, if systemd has one, is fed. */
    async ready() {
      await send(options, 'READY=1');
      if (watchdogMs > 0) void feed();
    },
    /** Reports that the service is stopping. */
    async stopping() {
      stopping.abort();
      await send(options, 'STOPPING=1');
    },
  };
}

/** The period of the watchdog in milliseconds; 0 if there is none for this process. */
function watchdogOf({ WATCHDOG_USEC, WATCHDOG_PID }: NodeJS.ProcessEnv): number {
  const ours = WATCHDOG_PID === undefined || Number(WATCHDOG_PID) === process.pid;
  return ours && /^\d+$/.test(WATCHDOG_USEC ?? '') ? Number(WATCHDOG_USEC) / 1000 : 0;
}

/** Sends a message. Resolves when systemd has received it, or after a failure, which is logged. */
function send(
  { environment: { NOTIFY_SOCKET, PATH }, logger }: ServiceManagerOptions,
  message: string,
): Promise<void> {
  if (!NOTIFY_SOCKET) return Promise.resolve();
  // The child must not get secrets from this process's environment.
  const env = { NOTIFY_SOCKET, PATH };
  return new Promise((resolve) => {
    execFile('systemd-notify', [message], { env, timeout: SEND_MS }, (error) => {
      if (error) logger.error({ code: error.code, message }, 'systemd notification failed');
      resolve();
    });
  });
}
