// `svc-server start`: runs the server until a signal stops it. Also reads the environment of an installed server.
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { makeDurableFolder } from '../../base/durable-folder.ts';
import { readInstalledUnit, readUnitEnvironment } from '../../base/install/installed-unit.ts';
import type { Installation } from '../../base/install/service.ts';
import { connectServiceManager, type ServiceManager } from '../../base/install/service-manager.ts';
import { stopSignal } from '../../base/install/stop-signal.ts';
import { createLogger, type Logger } from '../../base/logger.ts';
import { SvcError } from '../../base/svc-error.ts';
import { packageVersion } from '../../base/version.ts';
import { effectiveConfig, readConfig } from '../config.ts';
import type { Server } from '../main.ts';

/** Runs the server until SIGTERM or SIGINT. Throws `store_failed` if the database fails. */
export async function start(environment: NodeJS.ProcessEnv): Promise<void> {
  const config = readConfig(environment, { chain: true });
  const stopped = stopSignal();
  const logger = createLogger(config.values.SVC_LOG_LEVEL, config.values.SVC_LOG_FORMAT);
  logger.info({ version: packageVersion(), ...effectiveConfig(config) }, 'configuration loaded');
  // What a start creates lives long, so V8 would allocate similar objects of requests in its old generation. A dead object
  // there keeps what it refers to until the whole heap is collected: most of the request.
  setFlagsFromString('--no-allocation-site-pretenuring');
  if (config.database.kind === 'sqlite') makeDataFolder(path.dirname(config.database.path));
  const { startServer } = await import('../main.ts');
  const server = await startServer(config, { logger });
  const { progressAt } = server;
  const manager = connectServiceManager({ environment, progressAt, logger });
  await manager.ready();
  await untilStopped(server, logger, stopped, manager);
}

/** Throws `invalid_configuration` for what no restart repairs. */
function makeDataFolder(folder: string): void {
  try {
    makeDurableFolder(folder);
    accessSync(`${folder}/.`, constants.W_OK);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (!/^(EACCES|ENOENT|ENOTDIR|EPERM|EROFS)$/.test(code)) throw error;
    throw new SvcError('invalid_configuration', `Cannot use the folder ${folder}: ${message}.`, {
      hint: 'Set SVC_DATA_DIR to a folder that this user may write or create.',
    });
  }
}

/**
 * Resolves when the server has stopped after the signal. Throws `store_failed` if it stopped because its store can no
 * longer be trusted.
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
    throw new SvcError('store_failed', 'The database failed. The log contains the reason.');
  }
}

/** The systemd service of `svc-server`. */
export const serverInstallation: Installation = {
  name: 'svc-server',
  description: "svc-server, which anchors the hash of robots' evidence",
  subcommand: 'start',
  credential: 'anchor-key',
  otherCredentials: ['anchor-key-next', 'anchor-key-password', 'operator-token', 'webhook-key'],
  directives: [
    // Each garbage collection copies the data of requests in progress. With 32 MiB there are half as many, and storing 50
    // samples takes 840 µs instead of 1 400 µs.
    'Environment=NODE_OPTIONS=--max-semi-space-size=32',
    'Environment=SVC_DATA_DIR=%S/svc-server',
    // The path of $CREDENTIALS_DIRECTORY, written out: systemd 249 of Ubuntu 22.04 lacks the specifier for it.
    'Environment=SVC_ANCHOR_KEY_FILE=%t/credentials/%n/anchor-key',
    // Migrations run before the service is ready.
    'TimeoutStartSec=infinity',
    'WatchdogSec=1min',
  ],
  environment: `# Environment of svc-server; see svc-server config --describe. The anchoring key goes to
# /etc/svc-server/anchor-key. Other files with secrets, owner root and mode 600, have the names below in this folder.
#SVC_ANCHOR_KEY_PASSWORD_FILE=/run/credentials/svc-server.service/anchor-key-password
#SVC_OPERATOR_TOKEN_FILE=/run/credentials/svc-server.service/operator-token
#SVC_WEBHOOK_KEY_FILE=/run/credentials/svc-server.service/webhook-key
#SVC_CHAIN_RPC_URL=https://rpc.example.com
#SVC_BASE_URL=https://svc.example.com
`,
  nextSteps: [
    'set SVC_CHAIN_RPC_URL and SVC_BASE_URL in /etc/svc-server/environment',
    'put the anchoring key into /etc/svc-server/anchor-key (owner root, mode 600)',
    'systemctl restart svc-server',
  ],
};

/**
 * The caller's environment. Where svc-server is installed, the one of its unit, overridden by the caller's, unless the
 * caller names a database or may not read the unit's environment.
 */
export async function operatorEnvironment(
  own: NodeJS.ProcessEnv,
  root = '/',
): Promise<NodeJS.ProcessEnv> {
  if (own.SVC_DATA_DIR || own.SVC_DATABASE_URL) return own;
  try {
    const unit = await readInstalledUnit(serverInstallation, root);
    if (unit === null) return own;
    const installed = { SVC_DATA_DIR: '/var/lib/svc-server', SVC_ANCHOR_KEY_FILE: unit.keyFile };
    return { ...installed, ...(await readUnitEnvironment(unit)), ...own };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return own;
    throw error;
  }
}
