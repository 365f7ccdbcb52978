// Composes the server from store, chain, anchoring and HTTP, and shuts them down in order.
import { isLoopback } from '../base/addresses.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { SvcError } from '../base/svc-error.ts';
import { type AnchorChain, openChain } from '../chain/chain.ts';
import { type AnchorKey, loadAnchorKeys } from '../chain/keys/anchor-key.ts';
import { startAnchorer, watchProgress } from './anchoring/anchorer.ts';
import { type AnchoringLimits, type AnchorStep, PAUSES } from './anchoring/context.ts';
import { refuseCode, retiredError } from './anchoring/preflight.ts';
import { hostInUrl, type ServerConfig } from './config.ts';
import { startEvaluation } from './core/alert-evaluation.ts';
import { CheckedClock, startTimekeeping } from './core/checked-clock.ts';
import type { Settings } from './core/deps.ts';
import { createNetworkLookup, lacksPublicRpcUrl } from './core/operations.ts';
import { startRetention } from './core/retention.ts';
import { createSenders, startRelay } from './core/webhooks/webhook-relay.ts';
import { loadWebhookKey } from './core/webhooks/webhooks.ts';
import { buildApp } from './http/app.ts';
import { buildOperatorApi, listenForOperator, readOperatorToken } from './http/operator-api.ts';
import { RefusedCallers } from './http/server/refused-callers.ts';
import { createMetrics } from './metrics/metrics.ts';
import type { Store } from './ports/store.ts';
import { isGrantUnbounded } from './rules/credits.ts';
import { connectionRules } from './rules/webhooks.ts';
import { openStore } from './store/open-store.ts';

const LEASE_TTL_MS = 15_000;
const LEAVES_PER_COMMIT = 128;
const FIRST_CONTACT_MS = 3_000;

export type Server = Awaited<ReturnType<typeof startServer>>;

interface ServerDeps {
  logger: Logger;
  /** The wall clock. Tests replace it. */
  wall?: Clock;
  /** Called at each durable step of the anchorer; for fault injection only. */
  onAnchorStep?: (step: AnchorStep) => void | Promise<void>;
  /** Overrides limits of the configuration; tests shorten the pauses and the lease. */
  anchoring?: Partial<AnchoringLimits>;
  /** Wraps the store; for fault injection only. */
  wrapStore?: (store: Store) => Store;
  /** Whether webhooks may use http to this machine: a constant of `svc-server dev`, which no variable sets. */
  localWebhooks?: true;
  /** What the operator sets to choose host and port, for the hint of an error. */
  listenSettings?: string;
}

/**
 * Starts the service: store, chain, anchorer, HTTP. Rejects if the database belongs to another server or chain, if the
 * key cannot be read, or if the address is in use. An unreachable chain does not prevent the start.
 */
export async function startServer(config: ServerConfig, deps: ServerDeps) {
  const { logger } = deps;
  const clock = new CheckedClock(deps.wall);
  const { values } = config;
  const keys = await loadAnchorKeys(config.anchorKeys);
  const operator = config.operator && {
    address: config.operator.address,
    token: await readOperatorToken(config.operator.tokenFile),
  };
  const webhooks = await webhookSettings(config, deps.localWebhooks);
  const metrics = createMetrics(clock, config.anchoring.maxSpendWeiPerHour);
  const chain = openChain({
    urls: config.rpcUrls,
    finalityDepth: values.SVC_ANCHOR_FINALITY_DEPTH,
    onAsked: metrics.onAsked,
    verifyPerSecond: values.SVC_VERIFY_RPC_PER_SECOND,
  });
  metrics.watch(chain.anchoring.providers);
  let fail: (reason: 'store_failed') => void = () => {};
  const failed = new Promise<'store_failed'>((resolve) => {
    fail = resolve;
  });
  const opened = await openStore(config.database, {
    clock,
    serves: true,
    onCommit: metrics.onCommit,
    onPartitions(error) {
      metrics.onPartitions(error);
      if (error === null) return;
      logger.warn({ err: error }, 'failed to create telemetry partitions in advance; retrying');
    },
    minFreeBytes: values.SVC_DISK_MIN_FREE_MB * 1024 * 1024,
    storage: {
      poolBytes: values.SVC_STORAGE_POOL_MB * 1024 * 1024,
      accountBytes: values.SVC_STORAGE_ACCOUNT_MB * 1024 * 1024,
    },
    onWarning: (message) => logger.warn(message),
    onFatal(error) {
      logger.fatal({ err: error }, 'database failed');
      fail('store_failed');
    },
  });
  const observed = metrics.observe(opened);
  const store = deps.wrapStore?.(observed) ?? observed;
  await clock.load(store);
  const settings = settingsOf(config);
  const network = createNetworkLookup(config, settings);
  const stopping = new AbortController();
  const refusals = new RefusedCallers(clock);
  let onChecked: () => void = () => {};
  const checked = new Promise<void>((resolve) => {
    onChecked = resolve;
  });
  const operatorApi =
    operator && buildOperatorApi({ store, chain, clock, logger, refusals, token: operator.token });
  const app = buildApp({
    store,
    refusals,
    chain,
    clock,
    settings,
    keys,
    logger,
    trustedProxies: config.trustedProxies,
    metrics: { token: values.SVC_METRICS_TOKEN ?? null, read: metrics.read },
    onAnswered: metrics.onAnswered,
    onRefused: metrics.onRefused,
    network,
    webhooks,
    checked,
    stopping: stopping.signal,
  });
  const anchoring = expectChain(chain.anchoring, values.SVC_CHAIN_ID);
  let timekeeping: { stop(): void } | undefined;
  try {
    await refuseRetired(store, keys);
    await firstContact(store, anchoring, keys);
    timekeeping = await startTimekeeping({
      clock,
      store,
      newestBlockMs: chain.newestBlockMs,
      logger,
    });
    const isPublic = !isLoopback(new URL(config.baseUrl).hostname);
    if (await lacksPublicRpcUrl({ store, network })) {
      if (isPublic) {
        // Without it, GET /api/chain cannot have the URL that its payload specifies.
        const message = 'The service knows no URL at which wallets reach this chain.';
        const hint =
          'Set SVC_PUBLIC_RPC_URL to an RPC URL that everybody may call, without a secret.';
        throw new SvcError('invalid_configuration', message, { hint });
      }
      logger.warn('no public RPC URL of this chain is known: set SVC_PUBLIC_RPC_URL');
    }
    if (isGrantUnbounded(config.signup) && isPublic) {
      logger.warn(
        'one person with many wallets can collect sign-up grants: set SVC_SIGNUP_DELAY_HOURS and SVC_SIGNUP_ANCHORS_PER_DAY',
      );
    }
    if (operatorApi) await listenForOperator(operatorApi, operator.address);
    const url = await listen(app, config, deps.listenSettings);
    if (values.SVC_BASE_URL === undefined) {
      settings.baseUrl = `http://${hostInUrl(values.SVC_HOST)}:${new URL(url).port}`;
    }
  } catch (error) {
    timekeeping?.stop();
    await Promise.all([app.close(), operatorApi?.close()]);
    await chain.close();
    await store.close();
    throw error;
  }
  const anchorer = startAnchorer({
    store,
    chain: anchoring,
    keys,
    clock,
    logger,
    options: {
      ...config.anchoring,
      leaseTtlMs: LEASE_TTL_MS,
      leavesPerCommit: LEAVES_PER_COMMIT,
      pauses: PAUSES,
      ...deps.anchoring,
    },
    origin: settings.baseUrl,
    onChecked,
    ...(deps.onAnchorStep === undefined ? {} : { onStep: deps.onAnchorStep }),
  });
  const retention = startRetention({
    store,
    clock,
    telemetryRetentionMs: config.telemetryRetentionMs,
    eventRetentionMs: config.eventRetentionMs,
    proofRetentionMs: config.proofRetentionMs,
    onError: (error) => logger.warn({ err: error }, 'failed to delete expired data'),
  });
  const evaluation = startEvaluation({
    store,
    clock,
    onError: (error) => logger.warn({ err: error }, 'failed to evaluate alerts'),
  });
  const proxy = values.SVC_WEBHOOK_PROXY;
  const senders =
    webhooks && createSenders(webhooks.ruleOf, { proxy, localHttp: webhooks.localHttp });
  const relay =
    webhooks &&
    senders &&
    startRelay({
      store,
      clock,
      webhooks: { key: webhooks.key, senderOf: senders.senderOf },
      onError: (error) => logger.warn({ err: error }, 'failed to deliver webhooks'),
    });
  const progress = watchProgress({ store, anchorer });
  const close = async () => {
    stopping.abort();
    progress.stop();
    timekeeping?.stop();
    await Promise.all([app.close(), operatorApi?.close()]);
    await Promise.all([anchorer.drain(), retention.stop(), evaluation.stop(), relay?.stop()]);
    senders?.close();
    await chain.close();
    await store.close();
  };
  logger.info(
    { url: settings.baseUrl, anchor_addresses: keys.map(({ address }) => address) },
    'listening',
  );
  return {
    /** The URL on which the server listens, with the actual port. */
    url: settings.baseUrl,
    /** Resolves when the store can no longer be trusted; the process must end then. */
    failed,
    progressAt: progress.at,
    /** Stops accepting requests, finishes those in progress, drains the anchorer and closes the store. */
    close,
  };
}

async function listen(
  app: ReturnType<typeof buildApp>,
  { values: { SVC_HOST: host, SVC_PORT: port } }: ServerConfig,
  settings = 'SVC_HOST or SVC_PORT',
): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const reason = listenErrors[code ?? ''] ?? code;
    throw new SvcError('cannot_listen', `Cannot listen on ${host}, port ${port}: ${reason}.`, {
      hint: `Set ${settings} to another value.`,
      cause,
    });
  }
}

const listenErrors: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRINUSE: 'the port is already in use',
  EADDRNOTAVAIL: 'this machine does not have the address',
};

export function settingsOf(config: ServerConfig): Settings {
  const { values, baseUrl, gate, signup } = config;
  return {
    baseUrl,
    chainId: values.SVC_CHAIN_ID ?? null,
    creditUrl: values.SVC_CREDIT_URL ?? null,
    anchorTimeoutMs: values.SVC_ANCHOR_TIMEOUT_MS,
    promiseMs: values.SVC_ANCHOR_PROMISE_HOURS * 3_600_000,
    telemetryRetentionMs: config.telemetryRetentionMs,
    gate,
    signup,
  };
}

async function webhookSettings(
  { values, webhookNetworks, webhookWallets }: ServerConfig,
  localHttp = false,
) {
  const file = values.SVC_WEBHOOK_KEY_FILE;
  if (file === undefined) return null;
  const ruleOf = connectionRules(webhookNetworks, webhookWallets);
  return { key: await loadWebhookKey(file), ruleOf, localHttp };
}

/** Refuses the key of a retired account: verification fails for its anchors after the last block. */
async function refuseRetired(store: Store, keys: readonly AnchorKey[]): Promise<void> {
  const accounts = await store.listAnchoringAccounts();
  const retired = accounts.find(
    (one) => one.lastBlock !== null && keys.some(({ address }) => address === one.address),
  );
  if (retired !== undefined) throw retiredError(retired);
}

/**
 * Contacts the chain for at most 3 s, so that a wrong chain or an account that cannot anchor there is refused before
 * the first request.
 */
async function firstContact(store: Store, chain: AnchorChain, keys: readonly AnchorKey[]) {
  const signal = AbortSignal.timeout(FIRST_CONTACT_MS);
  try {
    const identity = await chain.identity(signal, await store.getChainIdentity());
    await store.bindChain(identity);
    await refuseCode({ chain, identity, keys }, signal);
  } catch (error) {
    const { code } = error instanceof SvcError ? error : { code: null };
    if (code === 'chain_mismatch' || code === 'sender_has_code') throw error;
  }
}

/** Enforces the configured chain id, even before the database is bound to a chain. */
function expectChain(chain: AnchorChain, chainId: number | undefined): AnchorChain {
  if (chainId === undefined) return chain;
  return {
    ...chain,
    async identity(signal, expected) {
      const identity = await chain.identity(signal, expected);
      if (identity.chainId === chainId) return identity;
      throw new SvcError(
        'chain_mismatch',
        `SVC_CHAIN_ID is ${chainId}, but SVC_CHAIN_RPC_URL belongs to chain ${identity.chainId}.`,
        { hint: 'Correct the one that is wrong. For another chain, use a new SVC_DATA_DIR.' },
      );
    },
  };
}
