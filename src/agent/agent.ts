// The daemon: spool, uploader and local API of one robot.
import { setMaxListeners } from 'node:events';
import type { Logger } from '../base/logger.ts';
import { readToken } from '../base/private-file.ts';
import { SvcError } from '../base/svc-error.ts';
import { type AgentClock, machineClock } from './clock.ts';
import type { AgentConfig } from './config.ts';
import { buildLocalApi } from './local-api/app.ts';
import type { LocalDeps } from './local-api/call.ts';
import { listenOnLoopback, listenOnSocket } from './local-api/listen.ts';
import { Identity } from './signing/identity.ts';
import { Signer } from './signing/signer.ts';
import { openSpool } from './spool/spool.ts';
import { readStatus, watchDiskWrites } from './status.ts';
import { PAUSES, type UploaderPauses } from './uploads/retry.ts';
import { Uploader } from './uploads/uploader.ts';

/** Time that calls under way get to finish when the agent stops. */
const GRACE_MS = 3_000;

type LocalApi = ReturnType<typeof buildLocalApi>;

export type Agent = Awaited<ReturnType<typeof startAgent>>;

/**
 * Starts the daemon. Uploader and local API share nothing but the spool. Resolves when robots can call the
 * API, whether or not the service can be reached.
 * @throws SvcError `spool_locked`, `spool_unusable`, `cannot_listen`, `key_unusable`
 */
export async function startAgent(
  config: AgentConfig,
  {
    logger,
    clock = machineClock(),
    pauses = PAUSES,
  }: { logger: Logger; clock?: AgentClock; pauses?: UploaderPauses },
) {
  const { serviceUrl, key, stateDir: folder, spoolBytes: maxBytes, signCommand } = config;
  if (serviceUrl === null || key === null) {
    throw new SvcError('invalid_configuration', 'SVC_AGENT_URL or the API key is not set.');
  }
  const onDamage = (damage: { file: string; records: number }) =>
    logger.error(damage, 'damaged spool set aside, intact records recovered');
  const spool = openSpool({ folder, maxBytes, clock, onDamage });
  const writes = watchDiskWrites();
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  await spool.update(({ state }) => state.noteBoot(clock.now()));
  const signer = new Signer({ folder, signCommand, spool, logger, pauses });
  await signer.look();
  const identity = new Identity(spool, signer, logger);
  const uploader = new Uploader({ serviceUrl, key, spool, clock, logger, pauses, identity });
  const status = () => readStatus({ spool, uploader, identity }, writes.lastHour());
  /**
   * The `performance.now()` at which both the uploader and the spool were last alive. The uploader runs a
   * round, and the spool tries to write its queue, every few seconds. A full disk or a dead network does not
   * stop this clock, because a restart would fix neither.
   */
  const progressAt = () => Math.min(uploader.progressAt, spool.progressAt);
  const apis: LocalApi[] = [];
  /** Ends waiting requests, commits the spool and stops. */
  const close = async () => {
    stopping.abort();
    await Promise.all(apis.map((api) => api.close()));
    await Promise.all([uploader.stop(GRACE_MS), signer.stop()]);
    writes.stop();
    spool.close();
  };
  const deps: LocalDeps = {
    spool,
    clock,
    logger,
    status,
    readTask: (id) => uploader.readTask(id),
    stopping: stopping.signal,
  };
  try {
    const api = buildLocalApi(deps, { token: null });
    apis.push(api);
    await listenOnSocket(api, config.socket);
    /** Port of the TCP listener; null without `SVC_AGENT_LISTEN`. */
    const tcpPort = await listenToPrograms(deps, config, apis);
    logger.info({ socket: config.socket, ...(tcpPort && { port: tcpPort }) }, 'listening');
    return { tcpPort, progressAt, status, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function listenToPrograms(deps: LocalDeps, { listen }: AgentConfig, apis: LocalApi[]) {
  if (listen === null) return null;
  // Members of the file's group may read it, as they may use the socket.
  const token = await readToken(listen.tokenFile, 'SVC_AGENT_TOKEN_FILE', 0o027);
  const api = buildLocalApi(deps, { token });
  apis.push(api);
  await listenOnLoopback(api, listen);
  const address = api.server.address();
  return typeof address === 'object' ? (address?.port ?? null) : null;
}
