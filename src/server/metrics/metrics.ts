// The metrics of the server, as reported by `/metrics`.
import { collectDefaultMetrics, type Gauge, type Histogram, Registry } from 'prom-client';
import type { Clock } from '../../base/clock.ts';
import type { ProviderAsked, ProviderStatus } from '../../chain/provider.ts';
import type { ErrorCode } from '../../protocol/errors.ts';
import { type RouteName, routes } from '../../protocol/routes.ts';
import type { Store } from '../ports/store.ts';
import {
  type AfterCall,
  createAnchorMeters,
  createBacklogGauges,
  type ReadReasons,
} from './anchoring.ts';
import { type MetricFactory, metricFactory } from './factory.ts';

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
  const factory = metricFactory(registry);
  const meters = createMeters(factory);
  const { answers, rateLimited, refusals, asks, rpcErrors, commits, writes, sent } = meters;
  const afterCall: AfterCall = {
    ...createAnchorMeters(factory),
    recordDelivered: () => sent.inc({ outcome: 'delivered' }),
    recordFailed: () => sent.inc({ outcome: 'failed' }),
  };
  const readGauges = createBacklogGauges(factory, clock, spendCapWei);
  const readProviders = createProviderGauges(factory);
  let store: Store | null = null;
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
    observe(opened: Store): Store {
      store = countStreams(observed(opened, meters.calls, afterCall), meters.streams);
      return store;
    },
    /** Reports the health of each RPC provider at every read. */
    watch(read: () => readonly ProviderStatus[]): void {
      providers = read;
    },
    /** Returns the metrics in the text format of Prometheus. */
    async read(readiness: ReadReasons): Promise<{ contentType: string; text: string }> {
      readProviders(providers());
      if (store !== null) await readGauges(store, readiness);
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

function createMeters({ counter, gauge, histogram }: MetricFactory) {
  return {
    answers: histogram(
      'svc_http_request_seconds',
      'Duration of requests by route, method and status; a completion waits for its block',
      SECONDS,
      ['route', 'method', 'status'],
    ),
    rateLimited: counter('svc_rate_limited_total', 'Requests refused with 429, by rate limit', [
      'limit',
    ]),
    refusals: counter(
      'svc_refusals_total',
      'Requests refused because a limit, quota or credit is used up, by error code',
      ['code'],
    ),
    streams: gauge('svc_streams', 'Open streams of changes'),
    sent: counter(
      'svc_webhook_attempts_total',
      'Attempts to deliver a message to a webhook, by outcome',
      ['outcome'],
    ),
    asks: histogram(
      'svc_rpc_call_seconds',
      'Duration of JSON-RPC calls by provider, method and outcome; calls of a batch have its duration',
      SECONDS,
      ['provider', 'method', 'outcome'],
    ),
    rpcErrors: counter(
      'svc_rpc_errors_total',
      'Failed JSON-RPC requests by provider since the start',
      ['provider'],
    ),
    commits: histogram(
      'svc_db_commit_seconds',
      'Duration of commits in seconds, from the first write until durable',
      SECONDS,
    ),
    writes: histogram(
      'svc_db_commit_writes',
      'Writes per commit',
      [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
    ),
    unpartitioned: gauge(
      'svc_db_partitions_failing',
      '1 if the last attempt to create telemetry partitions in advance failed; PostgreSQL only',
    ),
    calls: histogram(
      'svc_db_call_seconds',
      'Duration of database calls, including the wait for their commit',
      SECONDS,
      ['method'],
    ),
  };
}

function createProviderGauges({ gauge }: MetricFactory) {
  const healthy = gauge(
    'svc_rpc_provider_healthy',
    '1 if the RPC provider responds and is on the expected chain, otherwise 0',
    ['provider'],
  );
  const score = gauge(
    'svc_rpc_provider_score',
    'Score of the RPC provider from 0 to 1, by latency and recent errors',
    ['provider'],
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

/** Times each call, and counts what `after` counts. */
function observed(store: Store, calls: Histogram<'method'>, after: AfterCall): Store {
  const methods = Object.entries(store).map(([method, call]) => {
    if (untimed.test(method)) return [method, call];
    const count = after[method as keyof Store] as ((...input: unknown[]) => void) | undefined;
    const timedCall = async (...args: unknown[]) => {
      const startedAt = performance.now();
      try {
        const result = await call(...args);
        count?.(result, ...args);
        return result;
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
