// The metrics of the server, as reported by `/metrics`.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Clock } from '../../base/clock.ts';
import type { ProviderAsked, ProviderStatus } from '../../chain/provider.ts';
import type { ErrorCode } from '../../protocol/errors.ts';
import { type RouteName, routes } from '../../protocol/routes.ts';
import type { Store } from '../ports/store.ts';
import { createAnchorMeters, createBacklogGauges } from './anchoring.ts';

/** A response, for `onAnswered`. */
export interface Answered {
  /** Null if no route matched the request. */
  route: RouteName | null;
  method: string;
  status: number;
  seconds: number;
}

const SECONDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

/** Creates the metrics of one server, in a registry of its own. No label contains an id. */
export function createMetrics(clock: Clock, spendCapWei: bigint | null = null) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // Gauges with the suffix of counters; their parts by type remain.
  for (const what of ['handles', 'requests', 'resources']) {
    registry.removeSingleMetric(`nodejs_active_${what}_total`);
  }
  const meters = createMeters(registry);
  const { answers, rateLimited, refusals, asks, rpcErrors, commits, writes, calls } = meters;
  const countSteps = createAnchorMeters(registry);
  const readGauges = createBacklogGauges(registry, clock, spendCapWei);
  const readProviders = createProviderGauges(registry);
  let observed: Store | null = null;
  let providers: () => readonly ProviderStatus[] = () => [];
  return {
    /** Call after each response. */
    onAnswered({ route, method, status, seconds }: Answered): void {
      answers.observe({ route: route ?? 'none', method, status }, seconds);
      if (status === 429 && route !== null) rateLimited.inc({ limit: routes[route].limit });
    },
    onAsked({ calls: asked, seconds, provider, error }: ProviderAsked): void {
      for (const { method, outcome } of asked) asks.observe({ provider, method, outcome }, seconds);
      if (error !== null) rpcErrors.inc({ provider });
    },
    /** Call for each request that was refused because the caller has used up a limit, quota or credit. */
    onRefused(code: ErrorCode): void {
      refusals.inc({ code });
    },
    onCommit({ writes: size, seconds }: { writes: number; seconds: number }): void {
      writes.observe(size);
      commits.observe(seconds);
    },
    /** Call after each attempt to create telemetry partitions ahead of time; null if it succeeded. */
    onPartitions(error: unknown): void {
      meters.unpartitioned.set(error === null ? 0 : 1);
    },
    /** Wraps a store: times each call and counts open streams and the steps of anchoring. */
    observe(store: Store): Store {
      const timedStore = timed(store, calls);
      observed = countSteps(countWebhooks(countStreams(timedStore, meters.streams), meters.sent));
      return observed;
    },
    /** Reports the health of each RPC provider at every read. */
    watch(read: () => readonly ProviderStatus[]): void {
      providers = read;
    },
    /** Returns the metrics in the text format of Prometheus. */
    async read(): Promise<{ contentType: string; text: string }> {
      readProviders(providers());
      if (observed !== null) await readGauges(observed);
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

function createMeters(registry: Registry) {
  const registers = [registry];
  return {
    answers: new Histogram({
      name: 'svc_http_request_seconds',
      help: 'Duration of requests by route, method and status; a completion waits for its block',
      labelNames: ['route', 'method', 'status'],
      buckets: SECONDS,
      registers,
    }),
    rateLimited: new Counter({
      name: 'svc_rate_limited_total',
      help: 'Requests refused with 429, by rate limit',
      labelNames: ['limit'],
      registers,
    }),
    refusals: new Counter({
      name: 'svc_refusals_total',
      help: 'Requests refused because a limit, quota or credit is used up, by error code',
      labelNames: ['code'],
      registers,
    }),
    streams: new Gauge({
      name: 'svc_streams',
      help: 'Open streams of changes',
      registers,
    }),
    sent: new Counter({
      name: 'svc_webhook_attempts_total',
      help: 'Attempts to deliver a message to a webhook, by outcome',
      labelNames: ['outcome'],
      registers,
    }),
    asks: new Histogram({
      name: 'svc_rpc_call_seconds',
      help: 'Duration of JSON-RPC calls by provider, method and outcome; calls of a batch have its duration',
      labelNames: ['provider', 'method', 'outcome'],
      buckets: SECONDS,
      registers,
    }),
    rpcErrors: new Counter({
      name: 'svc_rpc_errors_total',
      help: 'Failed JSON-RPC requests by provider since the start',
      labelNames: ['provider'],
      registers,
    }),
    commits: new Histogram({
      name: 'svc_db_commit_seconds',
      help: 'Duration of commits in seconds, from the first write until durable',
      buckets: SECONDS,
      registers,
    }),
    writes: new Histogram({
      name: 'svc_db_commit_writes',
      help: 'Writes per commit',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
      registers,
    }),
    unpartitioned: new Gauge({
      name: 'svc_db_partitions_failing',
      help: '1 if the last attempt to create telemetry partitions in advance failed; PostgreSQL only',
      registers,
    }),
    calls: new Histogram({
      name: 'svc_db_call_seconds',
      help: 'Duration of database calls, including the wait for their commit',
      labelNames: ['method'],
      buckets: SECONDS,
      registers,
    }),
  };
}

function createProviderGauges(registry: Registry) {
  const gauge = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ['provider'], registers: [registry] });
  const healthy = gauge(
    'svc_rpc_provider_healthy',
    '1 if the RPC provider responds and is on the expected chain, otherwise 0',
  );
  const score = gauge(
    'svc_rpc_provider_score',
    'Score of the RPC provider from 0 to 1, by latency and recent errors',
  );
  return (statuses: readonly ProviderStatus[]): void => {
    for (const status of statuses) {
      healthy.set({ provider: status.label }, status.state === 'healthy' ? 1 : 0);
      score.set({ provider: status.label }, status.score);
    }
  };
}

/** Methods that are not timed: their duration depends on callers, or they do not use the database. */
const untimed = /^(waitFor|(changed|watchChanges|close|hasRoom|takeStorage)$)/;

function timed(store: Store, calls: Histogram<'method'>): Store {
  const methods = Object.entries(store).map(([method, call]) => {
    if (untimed.test(method)) return [method, call];
    const timedCall = async (...args: unknown[]) => {
      const startedAt = performance.now();
      try {
        return await call(...args);
      } finally {
        calls.observe({ method }, (performance.now() - startedAt) / 1000);
      }
    };
    return [method, timedCall];
  });
  // Every method is there again, under its name and with its arguments.
  return Object.fromEntries(methods) as Store;
}

function countStreams(store: Store, streams: Gauge): Store {
  return {
    ...store,
    watchChanges(wallet, watcher, signal) {
      store.watchChanges(wallet, watcher, signal);
      if (signal.aborted) return;
      streams.inc();
      signal.addEventListener('abort', () => streams.dec());
    },
  };
}

function countWebhooks(store: Store, sent: Counter<'outcome'>): Store {
  return {
    ...store,
    async recordDelivered(attempt) {
      await store.recordDelivered(attempt);
      sent.inc({ outcome: 'delivered' });
    },
    async recordFailed(attempt, retry) {
      await store.recordFailed(attempt, retry);
      sent.inc({ outcome: 'failed' });
    },
  };
}
